/// One task's sleep, from `begin` to its end, whichever of the two requests comes first.
///
/// `@unchecked` holds because it crosses threads only as a reference: its variables are touched on
/// the loop alone, which whatever touches them checks.
final class Sleeper: @unchecked Sendable {
    private let loop: EventLoop
    private var continuation: CheckedContinuation<Bool, Never>?
    private var timer: EventLoop.Timer?
    private var isCancelled = false

    init(on loop: EventLoop) {
        self.loop = loop
    }

    func begin(for duration: Duration, _ continuation: CheckedContinuation<Bool, Never>) {
        loop.preconditionOnLoop()
        guard !isCancelled else {
            continuation.resume(returning: false)
            return
        }
        self.continuation = continuation
        loop.core.sleepers[ObjectIdentifier(self)] = self
        timer = loop.schedule(after: duration) { [self] in end(slept: true) }
    }

    func cancel() {
        loop.preconditionOnLoop()
        isCancelled = true
        end(slept: false)
    }

    func end(slept: Bool) {
        loop.preconditionOnLoop()
        guard let continuation else { return }
        self.continuation = nil
        timer?.cancel()
        timer = nil
        loop.core.sleepers[ObjectIdentifier(self)] = nil
        continuation.resume(returning: slept)
    }
}

extension EventLoop {
    /// Suspends the calling task, from anywhere, for a duration.
    ///
    /// - Throws: when the task is cancelled, or the loop stops, before the time is over.
    public func sleep(for duration: Duration) async throws(CancellationError) {
        let sleeper = Sleeper(on: self)
        let slept = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if !submit(.body { sleeper.begin(for: duration, continuation) }) {
                    continuation.resume(returning: false)
                }
            }
        } onCancel: {
            submit(.body { sleeper.cancel() })
        }
        if !slept { throw CancellationError() }
    }
}
