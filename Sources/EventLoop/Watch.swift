internal import CUV

/// What is awaited of a file descriptor, or what it is ready for.
public struct Interest: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// The interest of these bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// There is something to read, or the other side has closed.
    public static let readable = Interest(rawValue: 1)
    /// There is room to write.
    public static let writable = Interest(rawValue: 2)
}

/// The watching of one file descriptor; the loop keeps it until `stop`.
///
/// - Shape: used on its loop only; stop it before closing the descriptor.
public final class Watch {
    private final class Poll: LoopHandle {
        var handler: (Interest, Int32) -> Void = { _, _ in }
        var interest: Interest = []

        override func close() {
            super.close()
            handler = { _, _ in }
        }
    }

    private let poll: Poll
    /// What is awaited now.
    public var interest: Interest { poll.interest }

    init(
        _ fd: Int32, _ interest: Interest, on loop: EventLoop,
        _ handler: @escaping (Interest, Int32) -> Void
    ) {
        let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let code = uv_poll_init(loop.core.loop, handle, fd)
        precondition(code == 0, "descriptor \(fd) cannot be watched: \(code)")
        poll = Poll(handle, of: loop)
        poll.handler = handler
        update(interest)
    }

    /// Awaits something else; nothing at all pauses the watch.
    public func update(_ interest: Interest) {
        poll.loop.preconditionOnLoop()
        guard interest != poll.interest, let handle = poll.handle(as: uv_poll_t.self) else {
            return
        }
        poll.interest = interest
        guard !interest.isEmpty else {
            uv_poll_stop(handle)
            return
        }
        let code = uv_poll_start(handle, Int32(interest.rawValue)) { handle, status, events in
            // The watch may be stopped, and its last reference dropped, by its own handler.
            let poll = LoopHandle.object(behind: handle, as: Poll.self)
            // libuv has stopped watching a descriptor that is in an error state.
            if status != 0 { poll?.interest = [] }
            poll?.handler(Interest(rawValue: UInt8(truncatingIfNeeded: events & 3)), -status)
        }
        precondition(code == 0, "a descriptor has two watches: \(code)")
    }

    /// Ends the watch: the handler is not called again, and the descriptor may be closed.
    public func stop() {
        poll.loop.preconditionOnLoop()
        poll.interest = []
        poll.close()
    }
}

extension EventLoop {
    /// Calls a handler whenever a file descriptor is ready for what is awaited.
    ///
    /// The handler gets what it is ready for, and 0; or nothing, and the error number of a
    /// descriptor in an error state, after which the watch is paused: the next read or write on
    /// the descriptor says what happened. The descriptor is made non-blocking.
    ///
    /// - Shape: on the loop only; at most one watch a descriptor.
    public func watch(
        _ fd: Int32, _ interest: Interest,
        _ handler: @escaping (_ ready: Interest, _ error: Int32) -> Void
    ) -> Watch {
        preconditionOnLoop()
        return Watch(fd, interest, on: self, handler)
    }
}
