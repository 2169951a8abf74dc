import Domain
import Foundation
import Ledger
import Postgres

/// Notifications posted to the daemon: how many, how large on disk, how far behind projections
/// are meanwhile, and how soon it is back after it was killed.
struct Posting {
    let ground: Ground
    let forge: Forge
    let binary: String
    let count: Int

    /// Runs it.
    func figures() async throws -> [Figure] {
        let ours = try await ground.database("posting_ours")
        let bare = try await ground.database("posting_bare")
        var daemon = try ServedLedger(binary, ground, database: "posting_ours", forge: forge)
        var loop = try await BareLoop(from: ours, to: bare)
        _ = try await loop.repeatNews()
        let texts = try await made(count) { [forge] in try forge.renewal(line: $0, period: 0) }
        let requests = texts.map(ServedLedger.post)
        let rounds = 4
        var (ourSeconds, bareSeconds, entries) = (0.0, 0.0, 0)
        var latencies: [Double] = []
        for round in 0..<rounds {
            let size = count / rounds
            let part = Array(requests[round * size..<(round + 1) * size])
            let result = try await Load(port: daemon.port, connections: 128, requests: part).run()
            try Posting.check(result)
            ourSeconds += result.seconds
            latencies += result.latencies
            let other = try await loop.repeatNews()
            bareSeconds += other.seconds
            entries += other.entries
        }
        let posted = count / rounds * rounds
        let best = Double(posted) / ourSeconds
        var figures = [
            Figure("post: notifications through HTTP, 128 connections", "\(best.whole) posts/s"),
            Figure(
                "post: the same as entries", "\((Double(entries) / ourSeconds).whole) entries/s"),
            Figure(
                "post: bare loop of the same rows",
                "\((Double(entries) / bareSeconds).whole) entries/s"),
            Figure("post: HTTP ÷ bare loop", "", bareSeconds / ourSeconds),
        ]
        let received = texts.prefix(posted).reduce(0) { $0 + $1.utf8.count }
        figures += try await sizes(ours, received: received, posts: posted)
        figures += try await lag(ours, daemon, rate: best / 2)
        figures += try await death(&daemon)
        daemon.stop()
        await loop.close()
        return figures
    }

    private static func check(_ result: LoadResult) throws {
        guard result.others.isEmpty else {
            throw BenchError.unexpected("answers by status: \(result.others)")
        }
    }

    /// What the record takes on disk.
    private func sizes(_ address: String, received: Int, posts: Int) async throws -> [Figure] {
        let session = try await BlockingConnection.open(address)
        let row = try await session.query(
            """
            select pg_total_relation_size('ledger.evidence') \
            + pg_total_relation_size('ledger.certificates'), \
            pg_total_relation_size('ledger.entry'), pg_total_relation_size('ledger.batch')
            """
        ).only()
        let (evidence, entry, batch) = (try row.int8(0), try row.int8(1), try row.int8(2))
        await session.close()
        let all = evidence + entry + batch
        func each(_ bytes: Int64) -> String {
            "\((Double(bytes) / Double(posts)).whole) bytes each"
        }
        return [
            Figure("size: notification as received", each(Int64(received))),
            Figure("size: entries on disk, indexes included", each(entry)),
            Figure("size: batches on disk", each(batch)),
            Figure(
                "size: evidence and certificates ÷ received", each(evidence),
                Double(evidence) / Double(received), .atMost(0.25)),
            Figure("size: all of the record ÷ received", each(all), Double(all) / Double(received)),
        ]
    }

    /// How old the oldest batch is that a projection lacks, sampled while notifications arrive.
    private func lag(_ address: String, _ daemon: ServedLedger, rate: Double) async throws
        -> [Figure]
    {
        let texts = try await made(count / 2) { [forge] in
            try forge.renewal(line: $0, period: 1)
        }
        let load = Load(
            port: daemon.port, connections: 128, requests: texts.map(ServedLedger.post),
            rate: rate)
        async let posting = load.run()
        let session = try await BlockingConnection.open(address)
        var samples: [Double] = []
        let start = ContinuousClock.now
        while start.secondsSince < Double(count / 2) / rate {
            let row = try await session.query(
                """
                select coalesce(max((extract(epoch from clock_timestamp()) * 1000)::bigint \
                - recorded_at), 0) from (select last_position, recorded_at from ledger.batch \
                order by number desc limit 500) as batch where last_position > \
                (select min(checkpoint) from projection.generation where is_live)
                """
            ).only()
            samples.append(Double(try row.int8(0)))
            try await Task.sleep(for: .milliseconds(5))
        }
        await session.close()
        let result = try await posting
        try Posting.check(result)
        samples.sort()
        let p99 = samples[min(samples.count - 1, samples.count * 99 / 100)]
        return [
            Figure(
                "lag: posts at half the maximum, answered within", "\(rate.whole) posts/s",
                result.percentile(99)),
            Figure(
                "lag: projections behind, p99 ms",
                "p50 \(samples[samples.count / 2].short) ms", p99, .atMost(50)),
        ]
    }

    /// From SIGKILL to the first notification accepted by the next daemon.
    private func death(_ daemon: inout ServedLedger) async throws -> [Figure] {
        var times: [Double] = []
        for round in 0..<3 {
            let request = ServedLedger.post(try forge.renewal(line: round, period: 3))
            daemon.kill()
            let start = ContinuousClock.now
            daemon = try ServedLedger(binary, ground, database: "posting_ours", forge: forge)
            let result = try await Load(
                port: daemon.port, connections: 1, requests: [request]
            ).run()
            try Posting.check(result)
            times.append(start.secondsSince)
        }
        return [
            Figure(
                "kill -9 to first accepted append, the worst of 3, s", "",
                times.max() ?? 0, .atMost(2))
        ]
    }
}
