import Crypto
import Domain
import Foundation
import Glibc
import HTTP
import TestSigner

/// `subledger serve` as a child process.
final class ServedLedger {
    static let key = "bench-key-0123456789abcdef0123456789"

    private let process = Process()
    private let client = Client()
    /// Where it listens.
    private(set) var port: UInt16 = 0
    /// Its process.
    var number: pid_t { process.processIdentifier }

    /// Starts the daemon on a database and waits until it listens.
    ///
    /// - Parameter plans: the plans of products, beside that of the forge.
    init(
        _ binary: String, _ ground: Ground, database: String, forge: Forge,
        plans: [String: String] = [:]
    ) throws {
        let folder = ground.directory + "/daemon"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try Data(forge.store.root.der).write(to: URL(fileURLWithPath: folder + "/root.der"))
        let products = plans.merging([Forge.product: "P1M"]) { one, _ in one }
            .sorted { $0.key < $1.key }.map {
                """
                "\($0)": {kind: "autoRenewable", group: "G1", level: 1, plan: "\($1)", \
                entitlements: ["pro"]}
                """
            }
        let configuration = """
            {
              dataDirectory: "\(folder)/data",
              database: "\(ground.url(database))",
              apps: [{bundleId: "\(Forge.bundle)", appAppleId: \(Forge.appAppleId),
                environments: ["Production"]}],
              apple: {rootCertificates: ["\(folder)/root.der"], onlineChecks: false},
              catalog: {products: {\(products.joined(separator: ", "))}},
            }
            """
        let file = folder + "/config.json5"
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
        try Data().write(to: URL(fileURLWithPath: folder + "/log"))
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = ["serve", "--config", file, "--listen", "127.0.0.1:0"]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["SUBLEDGER_BOOTSTRAP_KEY": ServedLedger.key]) { _, new in new }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle(forWritingAtPath: folder + "/log")
        try process.run()
        var said = ""
        while !said.contains("listening on"),
            case let data = output.fileHandleForReading
                .availableData, !data.isEmpty
        { said += String(decoding: data, as: UTF8.self) }
        guard let line = said.split(separator: "\n").first(where: { $0.hasPrefix("listening") }),
            let text = line.split(separator: ":").last, let port = UInt16(text)
        else {
            let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
            throw BenchError.unexpected("the daemon does not listen: \(said)\(log.suffix(2_000))")
        }
        self.port = port
    }

    /// What it answers to a question.
    func answer(_ path: String) async throws -> JSON {
        let answer = try await client.send(
            "GET", "http://127.0.0.1:\(port)\(path)",
            headers: [Header("Authorization", "Bearer \(ServedLedger.key)")],
            limit: 64 << 20, within: .seconds(600))
        guard answer.status == 200 else {
            throw BenchError.unexpected(
                "\(path): \(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
        }
        return try JSON.parse(answer.body)
    }

    /// Ends it in order.
    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Ends it as a power cut would.
    func kill() {
        Glibc.kill(number, SIGKILL)
        process.waitUntilExit()
    }

    /// A request with a body that posts a notification.
    static func post(_ signedPayload: String) -> [UInt8] {
        let body = "{\"signedPayload\":\"\(signedPayload)\"}"
        return Array(
            """
            POST /v1/apple/notifications HTTP/1.1\r
            Host: localhost\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """.utf8)
    }

    /// A request that reads.
    static func get(_ path: String) -> [UInt8] {
        Array(
            """
            GET \(path) HTTP/1.1\r
            Host: localhost\r
            Authorization: Bearer \(key)\r
            \r

            """.utf8)
    }
}
