import Crypto
import Domain
import Postgres

/// An entry as its table holds it.
struct EntryRow: Sendable {
    let bucket: Int32
    let entry: Entry
    let body: String
    let digest: Digest

    /// The row of an entry about to be written.
    init(_ entry: Entry) {
        bucket = Bucket.of(entry.event.stream)
        self.entry = entry
        body = String(decoding: entry.event.content.body.canonicalBytes(), as: UTF8.self)
        digest = EntryRow.digest(entry, body: body)
    }

    /// The row of an entry that was read, with the text of its body as recorded.
    init(_ entry: Entry, body: String) {
        bucket = Bucket.of(entry.event.stream)
        self.entry = entry
        self.body = body
        digest = EntryRow.digest(entry, body: body)
    }

    /// What the chain covers of an entry: all of it.
    static func digest(_ entry: Entry, body: String) -> Digest {
        let event = entry.event
        var input = DigestInput("subledger.entry.1")
        input.add(entry.position.number)
        input.add(text: event.stream.name)
        input.add(entry.revision)
        input.add(text: event.kind.name)
        input.add(text: event.key)
        input.add(ifAny: event.environment?.name)
        input.add(ifAny: event.subject?.number)
        input.add(event.occurredAt.milliseconds)
        input.add(ifAny: event.signedAt?.milliseconds)
        input.add(event.observedAt.milliseconds)
        input.add(entry.recordedAt.milliseconds)
        input.add(text: event.source.rawValue)
        input.add(ifAny: event.evidence?.hex)
        input.add(text: body)
        return input.digest
    }

    /// Columns in the order that `init(row:)` reads.
    static let columns = """
        position, stream, revision, kind, event_key, environment, subject, occurred_at, signed_at, \
        observed_at, recorded_at, source, evidence, body, digest
        """

    /// Reads a row of `columns`.
    ///
    /// - Parameter readsContent: what the body says is left unread when nobody asks.
    static func entry(_ row: Row, readsContent: Bool = true) throws(LedgerError) -> Entry {
        do throws(PostgresError) {
            let position = Position(try row.int8(0))
            let content =
                readsContent
                ? content(try row.bytes(13)[...], at: position) : .unreadable(position)
            let event = Event(
                kind: Kind(try row.text(3)), stream: StreamID(name: try row.text(1)),
                key: try row.text(4),
                environment: try row.textIfAny(5).map(Environment.init),
                subject: try row.int8IfAny(6).map(CustomerNumber.init),
                occurredAt: Instant(milliseconds: try row.int8(7)),
                signedAt: try row.int8IfAny(8).map(Instant.init(milliseconds:)),
                observedAt: Instant(milliseconds: try row.int8(9)),
                source: Source(rawValue: try row.text(11)) ?? .command,
                evidence: try row.bytesIfAny(12).map { Fingerprint(hex: Hex.encode($0)) },
                content: content)
            return Entry(
                position: position, revision: try row.int8(2),
                recordedAt: Instant(milliseconds: try row.int8(10)), event: event)
        } catch {
            throw .database(error)
        }
    }

    /// What a body says; one that cannot be read says nothing here, and halts its fold.
    static func content(_ body: ArraySlice<UInt8>, at position: Position) -> Event.Content {
        guard let json = try? JSON.parse(body), let content = try? Event.Content(body: json) else {
            return .unreadable(position)
        }
        return content
    }
}
