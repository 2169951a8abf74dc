public import Domain

/// Tables that follow the record and can be dropped any day.
///
/// Each stream is folded by itself, live and in a rebuild by the same fold, so that both make the
/// same rows. What a fold has made once a later fold of the same stream makes again or replaces by
/// its key: rows never vanish.
public protocol Projection: Sendable {
    /// The name in commands and in `projection.generation`.
    var name: String { get }
    /// Raised when the meaning of the fold changes: a generation of another edition is rebuilt.
    var edition: Int64 { get }
    /// Where its rows are.
    var tables: [ProjectionTable] { get }

    /// The fold of a stream of which nothing is known; `nil` when the stream does not concern it.
    func fold(of stream: StreamID) -> (any StreamFold)?
}

/// What a projection makes of one stream.
public protocol StreamFold: Sendable {
    /// Whether the rows of new entries depend on those before them.
    static var needsHistory: Bool { get }
    /// Whether the rows depend on what entries say; `false`: on what stands beside that alone.
    static var readsContent: Bool { get }
    /// The entry that could not be read, if any; from it on the stream is halted.
    var haltedAt: Position? { get }

    /// Takes the stream's next entry in; even after one that could not be read.
    ///
    /// - Shape: in a rebuild without its evidence.
    mutating func apply(_ entry: Entry)

    /// Adds the rows that entries after a position made or changed.
    ///
    /// - Shape: no key twice; no key that another stream's rows can have.
    func addRows(since position: Position, to rows: inout ProjectedRows)
}

extension StreamFold {
    /// Most read what entries say.
    public static var readsContent: Bool { true }
}
