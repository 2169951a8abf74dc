internal import CUV

extension EventLoop {
    /// A moment, or a rhythm, at which the loop calls a handler.
    ///
    /// - Shape: used on its loop only; the loop keeps it until it has fired for the last time.
    public final class Timer {
        private final class Clockwork: LoopHandle {
            var handler: () -> Void = {}
            var repeats = false

            override func close() {
                super.close()
                handler = {}
            }
        }

        private let clockwork: Clockwork

        init(
            after delay: Duration, repeating period: Duration?, on loop: EventLoop,
            _ handler: @escaping () -> Void
        ) {
            let handle = UnsafeMutablePointer<uv_timer_t>.allocate(capacity: 1)
            uv_timer_init(loop.core.loop, handle)
            clockwork = Clockwork(handle, of: loop)
            clockwork.handler = handler
            clockwork.repeats = period != nil
            // The loop's clock stands still during a turn, and a delay counts from the call.
            uv_update_time(loop.core.loop)
            let callback: uv_timer_cb = { handle in
                guard let clockwork = LoopHandle.object(behind: handle, as: Clockwork.self) else {
                    return
                }
                let handler = clockwork.handler
                if !clockwork.repeats { clockwork.close() }
                handler()
            }
            let period = period.map { max(1, $0.wholeMilliseconds) } ?? 0
            uv_timer_start(handle, callback, delay.wholeMilliseconds, period)
        }

        /// Ends the timer: the handler is not called again.
        public func cancel() {
            clockwork.loop.preconditionOnLoop()
            clockwork.close()
        }
    }

    /// Calls a handler after a delay, and then, if asked to, again and again.
    ///
    /// - Shape: on the loop only; a negative delay is none.
    /// - Units: to the millisecond, rounded up.
    @discardableResult
    public func schedule(
        after delay: Duration, repeating period: Duration? = nil,
        _ handler: @escaping () -> Void
    ) -> Timer {
        preconditionOnLoop()
        return Timer(after: delay, repeating: period, on: self, handler)
    }
}

extension Duration {
    /// Milliseconds, rounded up, never negative.
    var wholeMilliseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // Some 31,000 years are as good as any longer time, and cannot overflow.
        let whole = min(UInt64(seconds), 1_000_000_000_000) * 1_000
        return whole + UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
