import Domain
import HTTP
import Ledger
import Operation
import Postgres

/// What was received, is validly signed, and is not believed.
struct QuarantineRoutes: Sendable {
    let held: HeldReader
    let reader: LedgerReader
    let reprocessing: Reprocessing
    let samples: Samples

    var routes: [Route] {
        [
            Route("GET", "/v1/quarantine", .operate, list),
            Route("POST", "/v1/quarantine/reprocess", .operate, reprocess),
        ]
    }

    @Sendable private func list(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let query = try Reading.query(request, allowed: ["reason", "after", "limit"])
        let limit = Int(try Reading.number(query, "limit", 1...1_000) ?? 100)
        let reasons = query["reason"].map { [$0] } ?? []
        let forged: [Samples.Sample]
        do throws(PostgresError) {
            forged = try await samples.list(reasons: reasons, atMost: limit)
        } catch {
            throw .unavailable("SL055", "the samples cannot be read now")
        }
        let (pieces, head) = try await reading { () throws(LedgerError) in
            (
                try await held.pieces(
                    reasons: reasons, after: query["after"], atMost: limit),
                try await reader.head().position
            )
        }
        return .json(
            .object([
                .init("quarantine", .array(pieces.map(\.rendered))),
                .init("samples", .array(forged.map(\.rendered))),
                .init("next", .word(pieces.count == limit ? pieces.last?.cursor : nil)),
                .init("position", .integer(head.number)),
            ]))
    }

    @Sendable private func reprocess(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        // What was believed is held no more: a repeat finds nothing to do.
        _ = try Reading.idempotencyKey(request)
        let json = try Reading.object(request, members: ["digests"])
        let digests = try Reading.texts(json, "digests")
        for digest in digests where digest.isEmpty || !digest.allSatisfy(\.isHexDigit) {
            throw .badRequest("`digests` must be SHA-256 digests in hex, or how they begin")
        }
        let tally: Reprocessing.Tally
        do throws(DaemonError) {
            tally = try await reprocessing.run(digests.map { $0.lowercased() })
        } catch {
            throw .unavailable(error.code, "\(error)")
        }
        let head = try await reading { () throws(LedgerError) in
            try await reader.head().position
        }
        return .json(
            .object([
                .init("position", .integer(head.number)),
                .init("believed", .integer(Int64(tally.believed))),
                .init("refused", .integer(Int64(tally.refused))),
                .init("held", tally.rendered),
            ]))
    }
}

extension Samples.Sample {
    /// The sample as the interface writes it, without the text.
    var rendered: JSON {
        .object([
            .init("digest", .string(digest)),
            .init("receivedAt", .moment(Instant(milliseconds: receivedAt))),
            .init("reason", .string(reason)), .init("detail", .string(detail)),
        ])
    }
}

extension HeldReader.Piece {
    /// The piece as the interface writes it, without the signed text.
    var rendered: JSON {
        .object([
            .init("digest", .string(evidence.digest.hex)),
            .init("receivedAt", .moment(evidence.receivedAt)),
            .init("source", .string(source.rawValue)), .init("reason", .string(reason)),
            .init("detail", .string(detail)),
        ])
    }
}

extension Reprocessing.Tally {
    /// What is still held, by reason.
    var rendered: JSON {
        .object(
            stillHeld.sorted { $0.key < $1.key }.map { .init($0.key, .integer(Int64($0.value))) })
    }
}
