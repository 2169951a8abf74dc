import Domain
import Ledger
import Postgres

/// Rows of a range's streams, or of some of them.
struct FoldedRows: Sendable {
    let range: ClosedRange<Int32>
    /// Whether none of the range came before.
    let isFirst: Bool
    let rows: ProjectedRows
    /// How many entries the range has; `nil` when more of its rows follow.
    let entries: Int64?
}

/// Folds the streams of a range of buckets, so many rows at a time.
struct RangeFold {
    private let range: ClosedRange<Int32>
    private let projection: any Projection
    private let target: Position
    private let session: BlockingConnection
    private let share: Int
    private var copy: StreamCopy?
    private var ahead: CopiedEntries?
    private var current: (stream: StreamID, fold: (any StreamFold)?)?
    private var isFirst = true
    private var count: Int64 = 0

    /// - Parameter share: about how much the rows may take that are made at a time. Units: bytes.
    init(
        _ range: ClosedRange<Int32>, _ projection: any Projection, upTo target: Position,
        on session: BlockingConnection, share: Int
    ) {
        self.range = range
        self.projection = projection
        self.target = target
        self.session = session
        self.share = share
    }

    /// Reads on until the rows take their share, or the range ends.
    mutating func next() async -> Result<FoldedRows, ProjectingError> {
        do throws(LedgerError) {
            return .success(try await folded())
        } catch {
            return .failure(.ledger(error))
        }
    }

    private mutating func folded() async throws(LedgerError) -> FoldedRows {
        let copy: StreamCopy
        if let begun = self.copy {
            copy = begun
        } else {
            copy = try await StreamCopy(session, buckets: range, upTo: target)
            self.copy = copy
            ahead = try await copy.next().get()
        }
        var rows = ProjectedRows(projection.tables)
        while let entries = ahead {
            // The next ones arrive while these are folded.
            async let following = entries.isLast ? nil : copy.next()
            let folded = Result { () throws(LedgerError) in try fold(entries, &rows) }
            ahead = try await following?.get()
            try folded.get()
            if rows.byteCount > share, ahead != nil {
                defer { isFirst = false }
                return FoldedRows(range: range, isFirst: isFirst, rows: rows, entries: nil)
            }
        }
        finish(&rows)
        return FoldedRows(range: range, isFirst: isFirst, rows: rows, entries: count)
    }

    private mutating func fold(_ entries: CopiedEntries, _ rows: inout ProjectedRows)
        throws(LedgerError)
    {
        try entries.forEach { stream in
            if current?.stream != stream {
                finish(&rows)
                current = (stream, projection.fold(of: stream))
            }
            return current?.fold.map { type(of: $0).readsContent } ?? false
        } _: { entry in
            current?.fold?.apply(entry)
            count += 1
        }
    }

    /// Adds the rows of the stream that has been read to its end.
    private mutating func finish(_ rows: inout ProjectedRows) {
        if let current, let fold = current.fold {
            rows.add(fold, of: current.stream, since: .start)
        }
        current = nil
    }
}
