internal import Synchronization

/// Rings when there may be news, for everybody who waits for some.
public final class Bell: Sendable {
    private struct State {
        var count: UInt64 = 0
        var next: UInt64 = 0
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var others: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    /// A bell that has not rung.
    public init() {}

    /// How often it has rung: to be asked before looking for news, and handed to `wait`.
    public var count: UInt64 { state.withLock { $0.count } }

    /// Wakes everybody who waits.
    public func ring() {
        let (waiting, others) = state.withLock { state in
            state.count += 1
            defer { state.waiting = [:] }
            return (state.waiting.values, state.others)
        }
        for continuation in waiting { continuation.resume() }
        for other in others { other() }
    }

    /// Has something short done each time it rings, for ever.
    public func whenRung(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.others.append(body) }
    }

    /// Waits until it has rung more often than so many times, for a bounded time.
    public func wait(since count: UInt64, on loop: EventLoop, atMost time: Duration) async {
        guard self.count == count else { return }
        let place = state.withLock { state in
            state.next += 1
            return state.next
        }
        let alarm = Task(executorPreference: loop) { [self] in
            try? await loop.sleep(for: time)
            release(place)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    let isOver = state.count != count || Task.isCancelled
                    if !isOver { state.waiting[place] = continuation }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            release(place)
        }
        alarm.cancel()
    }

    private func release(_ place: UInt64) {
        state.withLock { $0.waiting.removeValue(forKey: place) }?.resume()
    }
}
