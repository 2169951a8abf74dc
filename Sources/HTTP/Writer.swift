internal import EventLoop

/// Why a piece of a body was not taken.
public enum WriteError: Error, Equatable, Sendable {
    /// The connection has ended; nothing more can be written to it.
    case closed
}

/// Takes the pieces of a streamed body.
public struct Writer: Sendable {
    let connection: Connection

    /// Sends a piece; waits while the client reads slower than pieces come.
    ///
    /// - Shape: from any task, one call at a time; an empty piece sends nothing.
    /// - Throws: when the connection has ended.
    public func write(_ bytes: [UInt8]) async throws(WriteError) {
        let connection = connection
        if connection.loop.isCurrent {
            guard connection.offer(bytes) else { throw .closed }
            guard connection.isFull else { return }
        }
        let isOffered = connection.loop.isCurrent
        let isTaken = await withCheckedContinuation { continuation in
            let isAwaited = connection.loop.execute {
                if isOffered || connection.offer(bytes) {
                    connection.awaitRoom(continuation)
                } else {
                    continuation.resume(returning: false)
                }
            }
            if !isAwaited { continuation.resume(returning: false) }
        }
        guard isTaken else { throw .closed }
    }
}
