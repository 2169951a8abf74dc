internal import CPostgres
internal import Glibc

/// The one owner of a libpq connection; whoever holds it is the only one to use it.
///
/// It closes the connection when it goes away.
final class Session {
    let pointer: OpaquePointer
    /// The last notice since it was last taken.
    private var notice: Notice?

    struct Notice {
        let text: String
        let isWarning: Bool
    }

    /// Begins to connect without blocking; go on with `PQconnectPoll`.
    ///
    /// - Throws: `notConnected` when the string is no libpq connection string.
    init(connectingTo connectionString: String) throws(PostgresError) {
        // Later keywords win, so text is UTF-8 whatever the string or environment says.
        let started = connectionString.withCString { address in
            "UTF8".withCString { encoding in
                "dbname".withCString { databaseKey in
                    "client_encoding".withCString { encodingKey in
                        PQconnectStartParams(
                            [databaseKey, encodingKey, nil], [address, encoding, nil], 1)
                    }
                }
            }
        }
        guard let started else { throw .notConnected("out of memory") }
        pointer = started
        PQsetNoticeReceiver(
            pointer,
            { context, result in
                guard let context, let result else { return }
                let code = ServerResult.field(.sqlstate, of: result) ?? "no code"
                let message = ServerResult.field(.message, of: result) ?? ""
                Unmanaged<Session>.fromOpaque(context).takeUnretainedValue().notice = Notice(
                    text: "\(code): \(message)",
                    isWarning: ServerResult.field(.severity, of: result) == "WARNING")
            }, Unmanaged.passUnretained(self).toOpaque())
        guard PQstatus(pointer) != CONNECTION_BAD else { throw .notConnected(lastMessage) }
    }

    deinit { PQfinish(pointer) }

    var socket: Int32 { PQsocket(pointer) }

    /// What libpq says went wrong last, on one line.
    var lastMessage: String {
        guard let message = PQerrorMessage(pointer) else { return "no reason given" }
        return String(cString: message).split(separator: "\n").joined(separator: " ")
    }

    /// The last notice, which is then forgotten.
    func takeNotice() -> Notice? {
        defer { notice = nil }
        return notice
    }

    /// The error a failed result stands for.
    func error(of result: ServerResult) -> PostgresError {
        guard let error = ServerError(result.pointer) else {
            return PQstatus(pointer) == CONNECTION_BAD
                ? .connectionLost(lastMessage)
                : .unexpectedAnswer(String(cString: PQresultErrorMessage(result.pointer)))
        }
        let severity = result.field(DiagnosticField.severity)
        guard !error.endsSession, severity != "FATAL", severity != "PANIC" else {
            return .connectionLost("\(error.sqlstate): \(error.message)")
        }
        return .server(error)
    }

    /// Why a COMMIT answered by `result` is no confirmation, or `nil` when it is one.
    ///
    /// A warning during COMMIT says that a standby did not confirm (01000), or that there was no
    /// transaction any more (25P01).
    func refusal(ofCommit result: ServerResult) -> PostgresError? {
        let tag = Rows(result).commandTag
        guard tag == "COMMIT" else { return .commitRefused("answered \(tag)") }
        if let notice = takeNotice(), notice.isWarning { return .commitRefused(notice.text) }
        return nil
    }

    /// The notifications that have arrived.
    func takeNotifications() -> [Notification] {
        var notifications: [Notification] = []
        while let next = PQnotifies(pointer) {
            notifications.append(
                Notification(
                    channel: String(cString: next.pointee.relname),
                    text: String(cString: next.pointee.extra)))
            PQfreemem(next)
        }
        return notifications
    }
}

/// What another session said with NOTIFY.
public struct Notification: Sendable, Equatable {
    /// The channel it was sent to.
    public let channel: String
    /// What was sent along; often empty.
    public let text: String

    /// A notification of these.
    public init(channel: String, text: String) {
        self.channel = channel
        self.text = text
    }
}

/// The letters by which libpq names the fields of an error.
///
/// - Source: PostgreSQL, libpq, `PQresultErrorField`.
enum DiagnosticField: Unicode.Scalar {
    case severity = "V"
    case sqlstate = "C"
    case message = "M"
    case detail = "D"
    case table = "t"
    case constraint = "n"
}

extension ServerResult {
    func field(_ field: DiagnosticField) -> String? { Self.field(field, of: pointer) }

    static func field(_ field: DiagnosticField, of result: OpaquePointer) -> String? {
        PQresultErrorField(result, Int32(field.rawValue.value)).map { String(cString: $0) }
    }
}

extension ServerError {
    /// `nil` when the result carries no SQLSTATE, so that it does not come from the server.
    init?(_ result: OpaquePointer) {
        guard let sqlstate = ServerResult.field(.sqlstate, of: result) else { return nil }
        self.init(
            sqlstate: sqlstate,
            message: ServerResult.field(.message, of: result) ?? "",
            detail: ServerResult.field(.detail, of: result),
            table: ServerResult.field(.table, of: result),
            constraint: ServerResult.field(.constraint, of: result))
    }
}
