import Synchronization

/// The moment at which the daemon is to end.
final class Ending: Sendable {
    private struct State {
        var hasBegun = false
        var waiting: CheckedContinuation<Void, Never>?
        var told: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// Whether it is time.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Says that it is time.
    func begin() {
        let (waiting, told) = state.withLock { state in
            state.hasBegun = true
            defer {
                state.waiting = nil
                state.told = []
            }
            return (state.waiting, state.told)
        }
        for tell in told { tell() }
        waiting?.resume()
    }

    /// Has something done when it is time; at once when it is.
    func whenBegun(_ tell: @escaping @Sendable () -> Void) {
        let isTime = state.withLock { state in
            if !state.hasBegun { state.told.append(tell) }
            return state.hasBegun
        }
        if isTime { tell() }
    }

    /// Waits until it is time; one waits at most.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isTime = state.withLock { state in
                if !state.hasBegun { state.waiting = continuation }
                return state.hasBegun
            }
            if isTime { continuation.resume() }
        }
    }
}
