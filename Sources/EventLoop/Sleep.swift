internal import Synchronization

/// One task's sleep: what its thread and the loop's have in common.
final class Sleeper: Sendable {
    private let isCancelled = Atomic(false)

    /// Begins on the loop, unless it was cancelled before.
    func begin(
        for duration: Duration, on loop: EventLoop,
        _ continuation: CheckedContinuation<Bool, Never>
    ) {
        loop.preconditionOnLoop()
        guard !isCancelled.load(ordering: .acquiring) else {
            return continuation.resume(returning: false)
        }
        let timer = loop.schedule(after: duration) { [self] in
            loop.core.endSleep(ObjectIdentifier(self), slept: true)
        }
        loop.core.sleeps[ObjectIdentifier(self)] = Sleep(
            sleeper: self, continuation: continuation, timer: timer)
    }

    /// Ends it from any thread, also when it has not begun.
    func cancel(on loop: EventLoop) {
        isCancelled.store(true, ordering: .releasing)
        loop.submit(.body { [self] in loop.core.endSleep(ObjectIdentifier(self), slept: false) })
    }
}

/// A sleep that has begun; the loop alone knows it.
struct Sleep {
    /// Kept, so that no other one is taken for it.
    let sleeper: Sleeper
    let continuation: CheckedContinuation<Bool, Never>
    let timer: EventLoop.Timer
}

extension Core {
    /// Ends a sleep, whichever of its timer, its task's cancellation and the loop's end comes first.
    func endSleep(_ sleeper: ObjectIdentifier, slept: Bool) {
        guard let sleep = sleeps.removeValue(forKey: sleeper) else { return }
        sleep.timer.cancel()
        sleep.continuation.resume(returning: slept)
    }
}

extension EventLoop {
    /// Suspends the calling task, from anywhere, for a duration.
    ///
    /// - Throws: when the task is cancelled, or the loop stops, before the time is over.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        let sleeper = Sleeper()
        let slept = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if !submit(.body { sleeper.begin(for: duration, on: self, continuation) }) {
                    continuation.resume(returning: false)
                }
            }
        } onCancel: {
            sleeper.cancel(on: self)
        }
        if !slept { throw CancellationError() }
    }
}
