public import Postgres

/// Why the ledger could not be read or opened.
public enum LedgerError: Error, Equatable, Sendable {
    /// PostgreSQL did not answer as it must.
    case database(PostgresError)
    /// The schema is newer than this program.
    case schemaNewer(found: Int, known: Int)
    /// The schema is older than this program, and was not to be changed.
    case schemaOlder(found: Int, known: Int)
    /// A landed migration is not the one that this program carries.
    case migrationEdited(name: String)
    /// A role is missing and could not be created; the text is what an administrator may run.
    case rolesMissing(remedy: String)
    /// The database does not keep what the ledger promises; each text names one thing.
    case unsafe([String])
    /// What is on the record contradicts itself.
    case damaged(String)

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .database: "SL010"
        case .schemaNewer: "SL011"
        case .schemaOlder: "SL012"
        case .migrationEdited: "SL013"
        case .rolesMissing: "SL014"
        case .unsafe: "SL015"
        case .damaged: "SL016"
        }
    }
}

extension LedgerError: CustomStringConvertible {
    /// The error in words.
    public var description: String {
        switch self {
        case .database(let error): "\(error)"
        case .schemaNewer(let found, let known):
            "the schema is at migration \(found), this program knows \(known): use a newer program"
        case .schemaOlder(let found, let known):
            "the schema is at migration \(found), this program needs \(known): run `migrate`"
        case .migrationEdited(let name):
            "migration \(name) was applied with another text than this program carries"
        case .rolesMissing(let remedy):
            "the roles of the ledger are missing; an administrator may run: \(remedy)"
        case .unsafe(let reasons):
            "the database does not keep what the ledger promises: "
                + reasons.joined(separator: "; ")
        case .damaged(let what): "the record contradicts itself: \(what)"
        }
    }
}

/// Why an append was not confirmed.
public enum AppendError: Error, Equatable, Sendable {
    /// Nothing was written: too many appends wait already. Offer the same again later.
    case overloaded(waiting: Int)
    /// Nothing is known to be written: PostgreSQL cannot store. Offering it again is harmless.
    case unavailable(PostgresError)
    /// Nothing was written: this machine's clock is ahead of PostgreSQL's.
    case clockAhead(milliseconds: Int64)
    /// Nothing was written: the ledger is closing.
    case closing
    /// Nothing was written: what is on the record does not allow it.
    case refused(Objection)

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .overloaded: "SL001"
        case .unavailable: "SL003"
        case .clockAhead: "SL004"
        case .closing: "SL005"
        case .refused(let objection): objection.code
        }
    }

    /// Whether the same append may succeed later.
    public var isRetryable: Bool {
        if case .refused = self { false } else { true }
    }
}

/// What on the record stands against a command.
public enum Objection: Error, Equatable, Sendable {
    /// The token is bound to another customer.
    case tokenBoundToOther
    /// The customer has no such grant.
    case grantUnknown
    /// The customer would, at some instant, read as itself by way of others.
    case mergeCircular
    /// The customer reads as a third one at that instant.
    case mergedElsewhere
    /// The customer never read as the other one.
    case notMerged

    /// Stable across releases; each has a section in the runbook.
    public var code: String {
        switch self {
        case .tokenBoundToOther: "SL020"
        case .grantUnknown: "SL021"
        case .mergeCircular: "SL022"
        case .mergedElsewhere: "SL023"
        case .notMerged: "SL024"
        }
    }
}
