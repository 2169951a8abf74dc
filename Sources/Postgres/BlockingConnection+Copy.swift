internal import CPostgres
internal import Glibc

extension BlockingConnection {
    /// Copies chunks of bytes into the server with `copy … from stdin`; returns the row count.
    ///
    /// - Shape: chunks may end anywhere; their bytes are in the format that `sql` names.
    public func copyIn(
        _ sql: String, _ chunks: some Sequence<[UInt8]> & Sendable
    ) throws(PostgresError) -> Int {
        try beginCopyIn(sql)
        for chunk in chunks { try copyIn(chunk) }
        return try endCopyIn()
    }

    /// Begins `copy … from stdin`; until `endCopyIn` the session takes only `copyIn` of bytes.
    public func beginCopyIn(_ sql: String) throws(PostgresError) {
        try using { (session) throws(PostgresError) in
            try session.begin(sql, expecting: PGRES_COPY_IN, patience: patience)
        }
    }

    /// Sends bytes of the copy that was begun.
    public func copyIn(_ chunk: [UInt8]) throws(PostgresError) {
        try using { (session) throws(PostgresError) in
            // libpq takes at most 2 GB a call, and its buffer should stay small.
            var rest = chunk[...]
            while !rest.isEmpty {
                let piece = rest.prefix(1 << 20)
                rest = rest.dropFirst(piece.count)
                let taken = piece.withUnsafeBytes { raw in
                    PQputCopyData(
                        session.pointer, raw.assumingMemoryBound(to: CChar.self).baseAddress,
                        Int32(raw.count))
                }
                guard taken == 1 else { throw session.sendingFailed }
                try session.flush(patience: patience)
            }
        }
    }

    /// Ends the copy that was begun; returns how many rows the server took.
    ///
    /// - Throws: the error that any of its rows caused; then none of them is in the table.
    public func endCopyIn() throws(PostgresError) -> Int {
        try using { (session) throws(PostgresError) in
            guard PQputCopyEnd(session.pointer, nil) == 1 else { throw session.sendingFailed }
            return Rows(try session.lastResult(patience: patience)).affected
        }
    }

    /// Begins `copy … to stdout`; until `copyOut` has given the last bytes the session takes
    /// nothing else.
    public func beginCopyOut(_ sql: String) throws(PostgresError) {
        try using { (session) throws(PostgresError) in
            try session.begin(sql, expecting: PGRES_COPY_OUT, patience: patience)
        }
    }

    /// The next bytes of the copy that was begun, and whether they are its last.
    ///
    /// - Parameter size: how many bytes are waited for, unless it ends before.
    /// - Shape: whole rows; in binary the header comes before the first and the trailer last.
    public func copyOut(atLeast size: Int) throws(PostgresError) -> (bytes: [UInt8], isLast: Bool) {
        try using { (session) throws(PostgresError) in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(size + size / 4)
            while bytes.count < size {
                let piece = try session.nextPiece(
                    patience: patience, { bytes.append(contentsOf: $0) })
                if piece == nil {
                    _ = try session.lastResult(patience: patience)
                    return (bytes, true)
                }
            }
            return (bytes, false)
        }
    }

    /// Folds what `copy … to stdout` sends, piece by piece, into a value.
    ///
    /// - Shape: each piece is one row in text and CSV; in binary the first piece starts with the
    ///   header and the last is the trailer. A piece is valid during the call of `fold` only.
    /// - Throws: after an error of the server the value is lost.
    public func copyOut<Value: Sendable>(
        _ sql: String, into initial: Value,
        _ fold: @Sendable (inout Value, UnsafeRawBufferPointer) -> Void
    ) throws(PostgresError) -> Value {
        try using { (session) throws(PostgresError) in
            try session.begin(sql, expecting: PGRES_COPY_OUT, patience: patience)
            var value = initial
            while let count = try session.nextPiece(
                patience: patience, { fold(&value, $0) }), count >= 0
            {}
            _ = try session.lastResult(patience: patience)
            return value
        }
    }
}

extension Session {
    fileprivate func begin(
        _ sql: String, expecting status: ExecStatusType, patience: Duration
    ) throws(PostgresError) {
        guard PQsendQuery(pointer, sql) == 1 else { throw sendingFailed }
        try flush(patience: patience)
        guard let result = try nextResult(patience: patience), result.status != status else {
            return
        }
        let failure =
            result.status == PGRES_FATAL_ERROR
            ? error(of: result) : .unexpectedAnswer("the statement is no such COPY")
        while try nextResult(patience: patience) != nil {}
        throw failure
    }

    /// The size of the next piece, `nil` after the last one.
    fileprivate func nextPiece(
        patience: Duration, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(PostgresError) -> Int? {
        while true {
            var piece: UnsafeMutablePointer<CChar>?
            let count = PQgetCopyData(pointer, &piece, 1)
            if count > 0 {
                defer { PQfreemem(piece) }
                body(UnsafeRawBufferPointer(start: piece, count: Int(count)))
                return Int(count)
            }
            guard count == 0 else { return nil }  // over, or an error that the result tells
            guard isReady(for: POLLIN, until: ContinuousClock.now + patience) else {
                throw .timedOut(after: patience)
            }
            guard PQconsumeInput(pointer) == 1 else { throw .connectionLost(lastMessage) }
        }
    }
}
