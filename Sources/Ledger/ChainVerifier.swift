import Crypto
public import Domain
import Postgres

/// Recomputes every digest of the record, from the first entry to the head.
public struct ChainVerifier: Sendable {
    private let pool: ConnectionPool

    /// A verifier over read-only sessions.
    public init(_ pool: ConnectionPool) { self.pool = pool }

    /// Verifies the whole chain and the tree.
    ///
    /// - Parameter onProgress: told how many more entries were verified.
    /// - Returns: the head that was verified, and what does not agree; empty when all does.
    public func verify(onProgress: @Sendable (Int) -> Void = { _ in })
        async throws(LedgerError) -> (head: Position, faults: [String])
    {
        var head = Head.empty
        var faults: [String] = []
        var pages = Pages(pool)
        while true {
            let batches = try await pool.read(
                """
                select number, first_position, last_position, recorded_at, digest, root, frontier \
                from ledger.batch where number > $1 order by number limit 200
                """, [.int8(head.number)])
            guard !batches.isEmpty else { break }
            for batch in batches {
                let before = head.position.number
                head = try await verify(batch, after: head, &pages, &faults)
                onProgress(Int(head.position.number - before))
                if faults.count > 100 { return (head.position, faults) }
            }
        }
        // Of one snapshot, because others may append meanwhile.
        let beyond = try await pool.read(
            """
            select count(*) from ledger.entry where position > \
            (select coalesce(max(last_position), 0) from ledger.batch)
            """, [])
        let count = try wrapped { () throws(PostgresError) in try beyond.only().int8(0) }
        if count > 0 { faults.append("\(count) entries stand beyond the newest batch") }
        return (head.position, faults)
    }

    /// Verifies one batch and returns the head after it. After a fault that is the head as
    /// recorded, so that one fault is not told again of every later batch.
    private func verify(
        _ batch: Row, after previous: Head, _ pages: inout Pages, _ faults: inout [String]
    ) async throws(LedgerError) -> Head {
        let (number, first, last, recordedAt) = try wrapped { () throws(PostgresError) in
            (try batch.int8(0), try batch.int8(1), try batch.int8(2), try batch.int8(3))
        }
        if number != previous.number + 1 || first != previous.position.number + 1 {
            faults.append("batch \(number) does not follow batch \(previous.number)")
        }
        if recordedAt <= previous.recordedAt.milliseconds {
            faults.append("batch \(number) was not recorded after batch \(previous.number)")
        }
        let rows = try await rows(
            from: first, through: last, recordedAt, &pages, &faults)
        let head = previous.followed(by: rows, recordedAt: Instant(milliseconds: recordedAt))
        let (digest, root, frontier) = try wrapped { () throws(PostgresError) in
            (try batch.bytes(4), try batch.bytes(5), try batch.bytes(6))
        }
        let isIntact = Hex.encode(digest) == head.digest.hex
        if !isIntact { faults.append("the digest of batch \(number) is another") }
        let hasTree = Hex.encode(root) == head.root.hex && frontier == head.tree.frontierBytes
        if !hasTree { faults.append("the tree at batch \(number) is another") }
        if isIntact && hasTree && head.position.number == last { return head }
        return Head(
            number: number, position: Position(last),
            recordedAt: Instant(milliseconds: recordedAt), digest: Fingerprint(bytes: digest),
            tree: HashTree(size: last, frontier: frontier) ?? head.tree)
    }

    /// The entries of a batch, each verified.
    private func rows(
        from first: Int64, through last: Int64, _ recordedAt: Int64, _ pages: inout Pages,
        _ faults: inout [String]
    ) async throws(LedgerError) -> [EntryRow] {
        var rows: [EntryRow] = []
        var next = first
        while next <= last, let row = try await pages.row(from: next, upTo: last) {
            let verified = try verify(row, recordedAt, &faults)
            let position = verified.entry.position.number
            if position < next { faults.append("position \(position) is taken twice") }
            note(missing: next, before: position, &faults)
            rows.append(verified)
            next = position + 1
        }
        note(missing: next, before: last + 1, &faults)
        return rows
    }

    private func note(missing first: Int64, before next: Int64, _ faults: inout [String]) {
        guard first < next else { return }
        faults.append(
            first == next - 1
                ? "position \(first) is missing" : "positions \(first) to \(next - 1) are missing")
    }

    private func verify(_ row: Row, _ recordedAt: Int64, _ faults: inout [String])
        throws(LedgerError) -> EntryRow
    {
        let entry = try EntryRow.entry(row, readsContent: false)
        let (body, digest, bucket) = try wrapped { () throws(PostgresError) in
            (try row.text(13), try row.bytes(14), try row.int8(15))
        }
        let verified = EntryRow(entry, body: body)
        if verified.digest.bytes != digest {
            faults.append("entry \(entry.position) was changed")
        }
        if Int64(verified.bucket) != bucket {
            faults.append("entry \(entry.position) is in a wrong bucket")
        }
        if entry.recordedAt.milliseconds != recordedAt {
            faults.append("entry \(entry.position) was not recorded with its batch")
        }
        return verified
    }
}

/// Entries with their buckets, read in pages that know nothing of batches.
private struct Pages {
    private let pool: ConnectionPool
    private var page: Rows?
    private var place = 0

    private static let size = 5_000

    init(_ pool: ConnectionPool) { self.pool = pool }

    /// The first row not yet taken that stands up to a position; `nil` when there is none.
    mutating func row(from first: Int64, upTo last: Int64) async throws(LedgerError) -> Row? {
        if page.map({ place >= $0.count }) ?? true {
            page = try await pool.read(
                """
                select \(EntryRow.columns), bucket from ledger.entry \
                where position >= $1 order by position, bucket limit \(Pages.size)
                """, [.int8(first)])
            place = 0
        }
        guard let page, place < page.count else { return nil }
        let row = page[place]
        let position = try wrapped { () throws(PostgresError) in try row.int8(0) }
        guard position <= last else { return nil }
        place += 1
        return row
    }
}
