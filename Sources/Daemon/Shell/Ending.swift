import Synchronization

/// The moment at which the daemon is to end.
final class Ending: Sendable {
    private struct State {
        var hasBegun = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Whether it is time.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Says that it is time.
    func begin() {
        let waiting = state.withLock { state in
            state.hasBegun = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
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
