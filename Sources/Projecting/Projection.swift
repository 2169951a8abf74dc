public import Domain
public import Ledger
public import Postgres

/// Tables that follow the record and can be dropped any day.
public protocol Projection: Sendable {
    /// The name in commands and in `projection.generation`.
    var name: String { get }
    /// Raised when the meaning of the fold changes: a generation of another edition is rebuilt.
    var edition: Int64 { get }

    /// What entries that follow the checkpoint change in a generation's tables.
    ///
    /// - Shape: entries in order of position, each exactly once per generation.
    func changes(by entries: [Entry], generation: Int64, reader: LedgerReader)
        async throws(LedgerError) -> [Statement]

    /// What removes a generation's rows.
    func removal(ofGeneration generation: Int64) -> [Statement]
}
