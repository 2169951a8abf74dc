internal import CUV

/// The watching of one signal.
private final class SignalHandle: LoopHandle {
    var handler: (Int32) -> Void = { _ in }
}

extension EventLoop {
    /// Calls a handler on a loop whenever the process receives one of these signals, in place of
    /// what the system would do; it lasts until the loop stops.
    public static func onSignal(
        _ signals: [Int32], on loop: EventLoop, _ handler: @escaping @Sendable (Int32) -> Void
    ) {
        loop.execute {
            for signal in signals {
                let handle = UnsafeMutablePointer<uv_signal_t>.allocate(capacity: 1)
                uv_signal_init(loop.core.loop, handle)
                let object = SignalHandle(handle, of: loop)
                object.handler = handler
                let callback: uv_signal_cb = { handle, signal in
                    LoopHandle.object(behind: handle, as: SignalHandle.self)?.handler(signal)
                }
                let code = uv_signal_start(handle, callback, signal)
                precondition(code == 0, "signal \(signal) cannot be watched: \(code)")
            }
        }
    }
}
