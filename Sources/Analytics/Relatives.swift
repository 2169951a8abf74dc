import Domain
import Ledger
import Postgres

/// Finds the lines of everybody who has a line that is measured from the record: who counts once
/// must be counted on one side.
struct Relatives: Sendable {
    let readers: Readers
    let settings: Settings
    let generation: Int64
    let question: MetricQuestion
    let pool: ConnectionPool
    let reader: LedgerReader

    /// These lines, and all others of their owners; `nil` when there are too many.
    func joined(to lines: [StreamID]) async throws(LedgerError) -> [StreamID]? {
        var all = Set(lines)
        if question.metric.isOfPersons { all.formUnion(try await later()) }
        var found = try await owners(of: all.sorted())
        var known: Set<CustomerNumber> = []
        while all.count <= ProjectedMetrics.lineLimit {
            let new = Set(found.flatMap(readers.readers(of:))).subtracting(known)
            guard !new.isEmpty else { return all.sorted() }
            known.formUnion(new)
            let others = try await streams(
                "customer = any($3)",
                .int8s(readers.numbers(of: new).map(\.number).sorted())
            ).filter { !all.contains($0) }
            all.formUnion(others)
            found = try await projectedOwners(of: others)
        }
        return nil
    }

    /// Lines that only begin after the instant of knowledge, by which whose they are is told.
    private func later() async throws(LedgerError) -> [StreamID] {
        try await streams("start_at > $3", .int8(question.knownAt.stored), of: "beginning")
    }

    private func streams(
        _ condition: String, _ parameter: Parameter, of table: String = "tenure"
    ) async throws(LedgerError) -> [StreamID] {
        let rows = try await pool.read(
            """
            select distinct stream from projection.\(table) where generation = $1 \
            and environment = $2 and \(condition) limit \(ProjectedMetrics.lineLimit + 1)
            """, [.int8(generation), .text(question.environment.name), parameter])
        return try asLedger { () throws(PostgresError) in
            var streams: [StreamID] = []
            for row in rows { streams.append(StreamID(name: try row.text(0))) }
            return streams
        }
    }

    /// Whoever owns lines as the record has them.
    private func owners(of lines: [StreamID]) async throws(LedgerError) -> Set<LineOwner> {
        var owners: Set<LineOwner> = []
        try await reader.eachLine(of: lines, upTo: question.position) { line in
            owners.formUnion(line.owners(settings).compactMap(\.owner))
        }
        return owners
    }

    /// Whoever owns lines as the projection has them.
    private func projectedOwners(of lines: [StreamID]) async throws(LedgerError) -> Set<LineOwner> {
        let rows = try await pool.read(
            """
            select distinct customer, is_token from projection.tenure \
            join unnest($2::int4[], $3::text[]) as wanted (bucket, stream) \
            on tenure.bucket = wanted.bucket::smallint and tenure.stream = wanted.stream \
            where generation = $1 and customer is not null
            """,
            [
                .int8(generation), .int4s(lines.map(Bucket.of)), .texts(lines.map(\.name)),
            ])
        return try asLedger { () throws(PostgresError) in
            var owners: Set<LineOwner> = []
            for row in rows {
                let number = CustomerNumber(try row.int8(0))
                owners.insert(try row.bool(1) ? .token(number) : .customer(number))
            }
            return owners
        }
    }
}

extension MetricQuestion {
    /// As whom owners are read in it; `nil` when that is not asked.
    func readers(_ people: People) -> Readers? {
        guard metric.countsPersons else { return nil }
        let instants = metric.isOfPersons ? [knownAt] : buckets.map(\.window.lowerBound)
        return Readers(people: people, instants: instants)
    }
}
