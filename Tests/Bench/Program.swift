import Foundation

/// Measures the program against bounds found in the same run.
@main
struct Program {
    static let names = ["append", "post", "read", "verify", "rebuild", "metrics"]
    static let usage = "usage: ops/bench [--quick] [\(names.joined(separator: "] ["))]"

    static func main() async {
        var wanted: [String] = []
        var isQuick = false
        var binary: String?
        for argument in CommandLine.arguments.dropFirst() {
            switch argument {
            case "--quick": isQuick = true
            case _ where argument.hasPrefix("--daemon="): binary = String(argument.dropFirst(9))
            case _ where names.contains(argument): wanted.append(argument)
            default: fail(usage, 2)
            }
        }
        guard let binary else { fail(usage, 2) }
        do {
            let ground = try Ground()
            defer { ground.end() }
            let figures = try await measure(
                Set(wanted.isEmpty ? names : wanted), isQuick: isQuick, binary, ground)
            print("")
            Figure.show(figures)
        } catch {
            fail("ops/bench: \(error)", 1)
        }
    }

    private static func measure(
        _ wanted: Set<String>, isQuick: Bool, _ binary: String, _ ground: Ground
    ) async throws -> [Figure] {
        let forge = try Forge()
        var figures: [Figure] = []
        if wanted.contains("append") || wanted.contains("verify") {
            let appending = Appending(
                ground: ground, forge: forge, count: isQuick ? 4_000 : 20_000)
            let found = try await appending.figures()
            if wanted.contains("append") { figures += found }
        }
        if wanted.contains("verify") {
            figures += try await Verification(address: ground.address("append_ours")).figures()
        }
        if wanted.contains("post") {
            let posting = Posting(
                ground: ground, forge: forge, binary: binary, count: isQuick ? 2_000 : 12_000)
            figures += try await posting.figures()
        }
        if wanted.contains("read") {
            let reading = Reading(
                ground: ground, forge: forge, binary: binary,
                customers: isQuick ? 1_000 : 10_000, seconds: isQuick ? 2 : 5)
            figures += try await reading.figures()
        }
        if wanted.contains("rebuild") {
            figures += try await Rebuilding(
                ground: ground, binary: binary, count: isQuick ? 24_000 : 240_000
            ).figures()
        }
        if wanted.contains("metrics") {
            figures += try await Measuring(
                ground: ground, forge: forge, binary: binary,
                count: isQuick ? 100_000 : 5_000_000
            ).figures()
        }
        return figures
    }

    private static func fail(_ why: String, _ code: Int32) -> Never {
        FileHandle.standardError.write(Data((why + "\n").utf8))
        exit(code)
    }
}
