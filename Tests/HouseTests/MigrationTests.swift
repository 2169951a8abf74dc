import Foundation
import Testing

/// SHA-256 of every migration that has landed: none of them is ever edited. When one lands, its line
/// is added here by `sha256sum schema/NNNN_name.sql`.
private let landed: [String: String] = [
    "0001_ledger": "5b90009706c25c735d81ac88b8b720c4c927d2972e1dd68f7db6db5fef791032",
    "0002_asking": "a69b6e38677a232a02bad59e96ea5d048c95849e745393cf83e282dc7a7c3421",
    "0003_generations": "c62a7cc493b97c54857e0b82ecef031c61fae2e200e7f004dedbdfb295f18149",
    "0004_delivery": "00a6247212a4da834394d0cdb89d2dbd10526b0e027a9d9f948a0c68d881df3b",
    "0005_analytics": "0862b80f87c496cdc280ab826cd173d64837776397f375d0e0916c68b1540658",
    "0006_report": "6698eca1df05be713cffeb172b01b487f74a9e339400d295a5370e7c2a7c6378",
    "0007_states": "a0086ca2690e6b86f55e5cc5e8aebf9766e44703257e14acee90df1936f7049c",
    "0008_flows": "b52b6c76797a94617adde6aa823e345f6af97c6cb79e7f9c80f006d907f96cca",
    "0009_persons": "d48d0ac4129c040bcd7b64b15471fa50869d9d9fec0b9b7977e918c47c6bf320",
    "0010_belonging": "7bd0edbb928afd88956afa94ceb9d9cbecc30f259227fc6f433170eaa99d56d8",
    "0011_cohorts": "63ed82f08a323d3797d0efc21ddc6136624518104849a8615e9f0381d39e4b39",
    "0012_origins": "1370d73ac5220735220dbdc9b9207294adf3815a5ade44c931fff30fb0ba3f79",
    "0013_presence": "ffd963d356ed0ef014f1cb8f54935b4f156af47394b3799ae27add573700d7f0",
]

@Suite("A migration")
struct MigrationTests {
    private static func all() throws -> [House.File] {
        try House.files(in: "schema", endings: [".sql"])
    }

    private static func name(_ file: House.File) -> String {
        String(file.path.dropFirst("schema/".count).dropLast(".sql".count))
    }

    @Test("begins by saying its name, what, why, locks, undo and whether it breaks")
    func headers() throws {
        for file in try Self.all() {
            let header = file.lines.prefix { $0.hasPrefix("--") }
            #expect(header.first == "-- \(Self.name(file))", "\(file.path)")
            let labels = header.compactMap { $0.firstMatch(of: #/^-- (\w+):\s+\S/#)?.output.1 }
            #expect(
                labels.filter { ["What", "Why", "Locks", "Undo", "Breaking"].contains($0) }
                    == ["What", "Why", "Locks", "Undo", "Breaking"], "\(file.path)")
        }
    }

    @Test("is numbered from 1 without gaps, and embedded in the program")
    func numbers() throws {
        let names = try Self.all().map(Self.name)
        let package = House.text("Package.swift")
        let list = House.text("schema/Migrations.swift")
        #expect(!names.isEmpty)
        for (index, name) in names.enumerated() {
            #expect(name.hasPrefix(String(format: "%04d_", index + 1)))
            #expect(package.contains("\"\(name).sql\""))
            #expect(list.contains("\"\(name)\""))
        }
    }

    @Test("is never edited once it has landed")
    func landedOnes() throws {
        let names = Set(try Self.all().map { Self.name($0) })
        #expect(Set(landed.keys).subtracting(names) == [])
        for (name, digest) in landed {
            #expect(try Self.digest("schema/\(name).sql") == digest, "\(name) was edited")
        }
    }

    @Test("is digested as sha256sum does")
    func digests() throws {
        let file = House.root.appendingPathComponent(".swift-format").path
        #expect(try Self.digest(".swift-format").count == 64, "\(file)")
    }

    @Test("puts the bucket into every key of a sharded table of the record")
    func buckets() throws {
        var wrong: [String] = []
        for file in try Self.all() {
            wrong += SQLKeys.withoutBucket(in: file.text).map { "\(file.path): \($0)" }
        }
        #expect(wrong == [])
    }

    @Test(
        "without the bucket in a key is found",
        arguments: [
            ("create table ledger.a (bucket int, id int, primary key (id, bucket));", []),
            ("create table ledger.a (bucket int, id int, primary key (id));", ["ledger.a (id)"]),
            ("create table ledger.a (bucket int, id int unique);", ["ledger.a id int unique"]),
            ("create table ledger.a (id int primary key);", []),
            (
                "create table ledger.a (\n  bucket int,\n  id int,\n  unique (id)\n);",
                ["ledger.a (id)"]
            ),
            (
                "create table ledger.a (bucket int, id int);\ncreate unique index on ledger.a (id);",
                ["ledger.a (id)"]
            ),
            ("create table operation.a (bucket int, id int primary key);", []),
            (
                "create table ledger.a (bucket int, id int);"
                    + "alter table ledger.a add constraint k unique (id);",
                ["ledger.a (id)"]
            ),
        ])
    func finds(sql: String, expected: [String]) {
        #expect(SQLKeys.withoutBucket(in: sql) == expected)
    }

    private static func digest(_ path: String) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = [House.root.appendingPathComponent(path).path]
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return String(text.prefix { $0 != " " })
    }
}
