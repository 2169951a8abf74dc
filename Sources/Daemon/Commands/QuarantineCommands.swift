import Diagnostics
import Domain
import HTTP
import Ledger
import Operation
import Postgres

/// `quarantine list`, `quarantine show`, `quarantine reprocess`.
struct QuarantineCommands {
    let invocation: Invocation
    let configuration: Configuration

    private static let pageSize = 500

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        try await Commands.withGround(configuration) { ground throws(DaemonError) in
            switch invocation.command {
            case .quarantineShow: return try await show(ground)
            case .quarantineReprocess: return try await reprocess(ground)
            default: return try await list(ground)
            }
        }
    }

    private func list(_ ground: Ground) async throws(DaemonError) -> ExitCode {
        var cursor: String?
        do throws(PostgresError) {
            let samples = try await Samples(ground.readPool).list(
                reasons: invocation.values("reason"), atMost: QuarantineCommands.pageSize)
            for sample in samples { tell(sample) }
        } catch {
            throw .database(error)
        }
        do throws(LedgerError) {
            while true {
                let page = try await HeldReader(ground.readPool).pieces(
                    reasons: invocation.values("reason"), after: cursor,
                    atMost: QuarantineCommands.pageSize)
                guard let last = page.last else { return .done }
                for piece in page { tell(piece) }
                cursor = last.cursor
            }
        } catch {
            throw .ledger(error)
        }
    }

    private func tell(_ sample: Samples.Sample) {
        if invocation.has("json") {
            Commands.write(sample.rendered)
        } else {
            let received = Instant(milliseconds: sample.receivedAt)
            print("\(sample.digest.prefix(16))  \(received)  \(sample.reason): \(sample.detail)")
        }
    }

    private func tell(_ piece: HeldReader.Piece) {
        if invocation.has("json") {
            Commands.write(piece.rendered)
        } else {
            let digest = piece.evidence.digest.hex.prefix(16)
            print("\(digest)  \(piece.evidence.receivedAt)  \(piece.reason): \(piece.detail)")
        }
    }

    private func show(_ ground: Ground) async throws(DaemonError) -> ExitCode {
        do throws(LedgerError) {
            let found = try await HeldReader(ground.readPool).pieces(
                prefix: invocation.arguments[0].lowercased(), atMost: 2)
            guard found.count == 1 else {
                Program.complain(
                    found.isEmpty
                        ? "nothing held has a digest that begins so" : "several digests begin so")
                return .failed
            }
            let certificates = try await EvidenceReader(ground.readPool).certificates()
            let text = Reprocessing.text(found[0].evidence, certificates)
            tell(found[0])
            print(text.map { String(decoding: $0, as: UTF8.self) } ?? "(a part of it was erased)")
            return .done
        } catch {
            throw .ledger(error)
        }
    }

    private func reprocess(_ ground: Ground) async throws(DaemonError) -> ExitCode {
        let writer = ground.writer()
        let reprocessing = Reprocessing(
            interpreter: try configuration.interpreter(), held: HeldReader(ground.writePool),
            evidence: EvidenceReader(ground.readPool), writer: writer,
            checks: configuration.apple.onlineChecks
                ? OnlineChecks(client: Client()) : nil,
            forgeries: Forgeries(samples: Samples(ground.writePool), metrics: MetricRegistry()))
        let tally: Reprocessing.Tally
        do throws(DaemonError) {
            tally = try await reprocessing.run(invocation.arguments.map { $0.lowercased() })
        } catch {
            await writer.close()
            throw error
        }
        await writer.close()
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "believed": .integer(Int64(tally.believed)),
                    "refused": .integer(Int64(tally.refused)), "held": tally.rendered,
                ]))
        } else {
            print(
                "believed \(tally.believed), refused \(tally.refused), "
                    + "still held \(tally.stillHeldCount)")
            for (reason, count) in tally.stillHeld.sorted(by: { $0.key < $1.key }) {
                print("  \(reason): \(count)")
            }
        }
        return .done
    }
}
