import AppStore
import Crypto
import Domain
import Ledger

/// `verify`: recomputes the chain and the tree, and verifies every kept signature again, at its
/// own signing time.
struct Verifying {
    let invocation: Invocation
    let configuration: Configuration

    private static let pageSize = 500
    private static let shown = 20

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    private struct Signatures {
        var verified = 0
        /// Answers about receipts, which nobody signed.
        var answers = 0
        var erased = 0
        var faults: [String] = []
    }

    func run() async throws(DaemonError) -> ExitCode {
        let verifier = try configuration.verifier()
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            do throws(LedgerError) {
                let head = try await ground.reader.head()
                let progress = Progress("verify", of: head.position.number)
                let (position, faults) = try await ChainVerifier(ground.readPool).verify {
                    progress.advance(by: Int64($0))
                }
                progress.finish()
                let signatures = try await self.signatures(
                    EvidenceReader(ground.readPool), verifier)
                return report(position, faults, signatures)
            } catch {
                throw .ledger(error)
            }
        }
    }

    private func signatures(_ reader: EvidenceReader, _ verifier: Verifier)
        async throws(LedgerError) -> Signatures
    {
        var result = Signatures()
        let certificates = try await reader.certificates()
        var last: (bucket: Int32, digest: [UInt8])?
        let progress = Progress("signatures", unit: "texts")
        while true {
            let (pieces, end) = try await reader.pieces(after: last, atMost: Verifying.pageSize)
            guard let end else { break }
            last = end
            for piece in pieces { check(piece, certificates, verifier, &result) }
            progress.advance(by: Int64(pieces.count))
        }
        progress.finish()
        return result
    }

    private func check(
        _ piece: EvidenceReader.Piece, _ certificates: [Fingerprint: [UInt8]],
        _ verifier: Verifier, _ result: inout Signatures
    ) {
        let tokens = piece.tokens.compactMap { $0 }
        guard tokens.count == piece.tokens.count else {
            result.erased += 1
            return
        }
        let name = piece.digest.hex.prefix(12)
        do {
            let text = try EvidenceTemplate.restore(
                piece.template,
                certificates: { certificates[Fingerprint(hex: $0.description)] }, tokens: tokens)
            guard SHA256.digest(of: text).description == piece.digest.hex else {
                result.faults.append("evidence \(name) is not the text that arrived")
                return
            }
            if EvidenceTemplate.isAnswer(piece.template) {
                result.answers += 1
                return
            }
            if text.contains(UInt8(ascii: ".")) {
                _ = try verifier.verify(text, receivedAt: piece.receivedAt)
            } else {
                _ = try AppReceipt.read(
                    base64: String(decoding: text, as: UTF8.self), roots: verifier.extraRoots)
            }
            result.verified += 1
        } catch {
            result.faults.append("evidence \(name): \(error)")
        }
    }

    private func report(_ position: Position, _ faults: [String], _ signatures: Signatures)
        -> ExitCode
    {
        let all = faults + signatures.faults
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "position": .integer(position.number),
                    "signatures": .integer(Int64(signatures.verified)),
                    "answers": .integer(Int64(signatures.answers)),
                    "erased": .integer(Int64(signatures.erased)),
                    "faults": .array(all.map(JSON.string)),
                ]))
        } else {
            print(
                "verified \(position) entries, \(signatures.verified) signed texts, "
                    + "\(signatures.answers) answers, \(signatures.erased) erased; \(all.count) faults"
            )
            for fault in all.prefix(Verifying.shown) { print("  \(fault)") }
        }
        return all.isEmpty ? .done : .found
    }
}
