public import Domain
public import Postgres

/// Tables that follow the record and can be dropped any day.
///
/// Each stream is folded by itself, live and in a rebuild by the same fold, so that both make the
/// same rows. What a fold has made once a later fold of the same stream makes again or replaces by
/// its key; rows vanish in tables of whole streams alone.
public protocol Projection: Sendable {
    /// The name in commands and in `projection.generation`.
    var name: String { get }
    /// Raised when the meaning of the fold changes: a generation of another edition is rebuilt.
    var edition: Int64 { get }
    /// Where its rows are.
    var tables: [ProjectionTable] { get }

    /// The fold of a stream of which nothing is known; `nil` when the stream does not concern it.
    func fold(of stream: StreamID) -> (any StreamFold)?

    /// The stream whose entries change what the rows of all others are; `nil`: there is none.
    var context: StreamID? { get }
    /// The projection whose folds know these entries of the context.
    func knowing(_ context: [Entry]) -> any Projection
    /// Asks whether the rows of a generation that were made in one context would be the same in
    /// another; `nil`: that cannot be told without making them.
    ///
    /// - Shape: a statement that answers one truth value.
    func sameness(from old: [Entry], to new: [Entry], generation: Int64) -> Statement?
}

extension Projection {
    /// No context.
    public var context: StreamID? { nil }
    /// Itself.
    public func knowing(_ context: [Entry]) -> any Projection { self }
    /// None.
    public func sameness(from old: [Entry], to new: [Entry], generation: Int64) -> Statement? {
        nil
    }
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

    /// Adds the rows that entries after a position made or changed, and to tables of whole streams
    /// all rows.
    ///
    /// - Shape: no key twice; no key that another stream's rows can have.
    func addRows(since position: Position, to rows: inout ProjectedRows)
}

extension StreamFold {
    /// Most read what entries say.
    public static var readsContent: Bool { true }
}
