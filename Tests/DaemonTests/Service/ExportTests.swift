import Crypto
import Domain
import Foundation
import Testing

@testable import Daemon

@Suite("An export")
struct ExportTests {
    private func export(
        _ service: TestService, _ table: String, to folder: String,
        _ more: [String: [String]] = [:]
    ) async throws -> JSON {
        let invocation = Invocation(
            command: .export, options: ["json": [], "output": [folder]].merging(more) { $1 },
            arguments: [table])
        _ = try await Exporting(invocation, service.configuration).run()
        return try JSON.parse(try bytes(folder, "manifest.json"))
    }

    /// The code of the error that ends a command.
    private func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? DaemonError)?.code
        }
    }

    private func folder(_ service: TestService) -> String {
        service.configuration.dataDirectory + "/export-\(UUID().uuidString)"
    }

    private func bytes(_ folder: String, _ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
    }

    private func text(_ folder: String, _ name: String) throws -> String {
        String(decoding: try bytes(folder, name), as: UTF8.self)
    }

    /// Two lines, the second one refunded in half.
    private func fill(_ service: TestService) async throws {
        _ = try await service.post(
            service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
        _ = try await service.post(
            service.transaction(
                "2001", line: "2001", from: "2025-06-02", until: "2025-07-02", signed: "2025-06-20",
                more: [
                    .init("revocationDate", .integer(Instant("2025-06-10")!.milliseconds)),
                    .init("revocationPercentage", .integer(50_000)),
                    .init("revocationType", .string("REFUND_PRORATED")),
                    .init("storefront", .string("A,\"B\"")),
                ]))
    }

    @Test("of periods has a row for each, under the names of the report")
    func periods() async throws {
        try await TestService.run { service in
            try await fill(service)
            let folder = folder(service)
            let manifest = try await export(service, "periods", to: folder)
            #expect(manifest["rows"] == .integer(2))
            #expect(manifest["complete"] == .bool(true))
            let lines = try text(folder, "periods-000001.csv").split(separator: "\r\n")
            let names = lines[0].split(separator: ",").map(String.init)
            #expect(
                names.prefix(3) == ["environment", "original_transaction_id", "transaction_id"])
            #expect(lines.count == 3)
            let first = lines.first { $0.contains(",1001,1001,") }
            let start =
                "Production,1001,1001,91001,com.example.app,pro.monthly,,P1M,paid,subscription,"
                + "2025-06-01T00:00:00.000Z,2025-06-01T00:00:00.000Z,2025-07-01T00:00:00.000Z,"
                + "2025-07-01T00:00:00.000Z,expiry,9990,USD,,,,false,PURCHASED,,,,"
            #expect(first?.hasPrefix(start) == true, "\(first ?? "")")
            // Quoted as RFC 4180 says.
            #expect(lines.contains { $0.contains("\"A,\"\"B\"\"\"") })
        }
    }

    @Test("of movements has what was paid and, below zero, what went back")
    func movements() async throws {
        try await TestService.run { service in
            try await fill(service)
            let folder = folder(service)
            _ = try await export(service, "movements", to: folder, ["format": ["ndjson"]])
            let rows = try text(folder, "movements-000001.ndjson").split(separator: "\n").map {
                try JSON.parse(Array($0.utf8))
            }
            let told = rows.map {
                "\($0["transaction_id"]?.text ?? "") \($0["kind"]?.text ?? "") "
                    + "\($0["moved_at"]?.text?.prefix(10) ?? "") "
                    + "\($0["amount_milliunits"]?.integer ?? 0)"
            }.sorted()
            #expect(
                told == [
                    "1001 purchase 2025-06-01 9990", "2001 purchase 2025-06-02 9990",
                    "2001 refund 2025-06-10 -4995",
                ])
        }
    }

    @Test("that was interrupted goes on behind its last whole file, at the same position")
    func resumed() async throws {
        try await TestService.run { service in
            try await fill(service)
            for table in ["entries", "periods"] {
                let (whole, broken) = (folder(service), folder(service))
                let small = ["rows-per-file": ["1"]]
                let full = try await export(service, table, to: whole, small)
                let names = (full["files"]?.elements ?? []).compactMap { $0["name"]?.text }
                #expect(names.count >= 2, "\(table)")
                for file in full["files"]?.elements ?? [] {
                    let digest = SHA256.digest(of: try bytes(whole, file["name"]?.text ?? ""))
                    #expect(file["sha256"]?.text == digest.description)
                    #expect(file["rows"] == .integer(1))
                }
                // As a kill after the first file leaves it: a second one is begun.
                try FileManager.default.createDirectory(
                    atPath: broken, withIntermediateDirectories: true)
                var manifest = try #require(Manifest(full))
                manifest.files = Array(manifest.files.prefix(1))
                manifest.isComplete = false
                try ExportFolder(broken).write(manifest)
                try Data(try bytes(whole, names[0])).write(
                    to: URL(fileURLWithPath: broken + "/" + names[0]))
                try Data("half".utf8).write(
                    to: URL(fileURLWithPath: broken + "/" + names[1] + ".part"))
                // What is recorded meanwhile is not of it.
                _ = try await service.post(
                    service.transaction(
                        "\(table.count)001", line: "\(table.count)001", from: "2025-06-03",
                        until: "2025-07-03"))
                #expect(try await export(service, table, to: broken, small) == full, "\(table)")
                for name in names {
                    #expect(try bytes(whole, name) == (try bytes(broken, name)), "\(name)")
                }
                // Once it is whole nothing is added.
                #expect(try await export(service, table, to: broken, small) == full, "\(table)")
            }
        }
    }

    @Test("is not mixed with another, nor believed when its files were changed")
    func guarded() async throws {
        try await TestService.run { service in
            try await fill(service)
            let folder = folder(service)
            let manifest = try await export(service, "periods", to: folder)
            let other: [(String, [String: [String]])] = [
                ("movements", [:]), ("periods", ["format": ["ndjson"]]),
                ("periods", ["environment": ["Sandbox"]]), ("periods", ["app": ["com.other"]]),
                ("periods", ["as-known-position": ["1"]]),
            ]
            for (table, options) in other {
                let code = await failure {
                    _ = try await export(service, table, to: folder, options)
                }
                #expect(code == "SL031", "\(table) \(options)")
            }
            #expect(try await export(service, "periods", to: folder) == manifest)
            try Data("short".utf8).write(
                to: URL(fileURLWithPath: folder + "/periods-000001.csv"))
            #expect(
                await failure { _ = try await export(service, "periods", to: folder) } == "SL031")
        }
    }

    @Test("is refused by name when there is no such table or form")
    func refused() async throws {
        try await TestService.run { service in
            let wrong: [(String, [String: [String]])] = [
                ("people", [:]),
                ("periods", ["rows-per-file": ["0"]]), ("entries", ["app": ["com.example.app"]]),
                ("periods", ["as-known-position": ["99999"]]),
            ]
            for (table, options) in wrong {
                let code = await failure {
                    _ = try await export(service, table, to: folder(service), options)
                }
                #expect(code == "SL036", "\(table) \(options)")
            }
            let head = try await service.ask("GET", "/v1/ledger/head", key: nil)
            #expect(head.status == 200)
        }
    }
}
