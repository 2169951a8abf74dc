import Testing

/// The floors of the house: a room imports rooms of lower floors only.
private let floors: [String: Int] = [
    "Domain": 0, "Diagnostics": 0, "EventLoop": 0, "CUV": 0, "COpenSSL": 0, "CPostgres": 0,
    "CCurl": 0,
    "Schema": 0,
    "Crypto": 1, "Postgres": 1, "HTTP": 1,
    "AppStore": 2, "Ledger": 2, "Operation": 2,
    "Projecting": 3,
    "Entitlements": 4, "Analytics": 4, "Delivery": 4, "StoreSimulator": 4,
    "Daemon": 5,
    "subledger": 6,
]

/// What a room must not see although it lies below.
private let forbidden: [String: Set<String>] = [
    "AppStore": ["Postgres"],
    // Written from the facts alone, so that it and what it tests can disagree.
    "StoreSimulator": ["AppStore", "Ledger", "Operation", "Projecting", "Postgres"],
    "Crypto": ["Domain"], "Postgres": ["Domain"], "HTTP": ["Domain"],
]

@Suite("The rooms")
struct RoomTests {
    @Test("import only rooms of lower floors")
    func imports() throws {
        var wrong: [String] = []
        for file in try House.files(in: "Sources", endings: [".swift"]) {
            for imported in Self.imports(of: file) where !Self.mayImport(file.room, imported) {
                wrong.append("\(file.path) imports \(imported)")
            }
        }
        #expect(wrong == [])
    }

    @Test("name only rooms of lower floors in Package.swift")
    func dependencies() throws {
        let declared = Self.declared()
        #expect(declared.count >= 12)
        var wrong: [String] = []
        for (room, names) in declared {
            for name in names where !Self.mayImport(room, name) {
                wrong.append("\(room) → \(name)")
            }
        }
        #expect(wrong == [])
    }

    @Test("each have a floor, and a row in README.md")
    func known() throws {
        let readme = House.text("README.md")
        let rooms = Set(try House.files(in: "Sources", endings: [".swift", ".h"]).map(\.room))
        #expect(rooms.filter { floors[$0] == nil } == [])
        #expect(rooms.filter { !readme.contains("`\($0)`") } == [])
    }

    @Test("of the domain use no clock, no random number and no Foundation")
    func pure() throws {
        let banned = ["import Foundation", "Date()", ".random", "Clock.now", "import Glibc"]
        var wrong: [String] = []
        for file in try House.files(in: "Sources/Domain", endings: [".swift"]) {
            for word in banned where file.text.contains(word) {
                wrong.append("\(file.path): \(word)")
            }
        }
        #expect(wrong == [])
    }

    @Test("that put things together hold no SQL")
    func noSQL() throws {
        let statement =
            #/"\s*(?i:select\s.+\sfrom|insert\s+into|update\s+\w+\.\w+\s+set|delete\s+from|create\s+table|truncate)\s/#
        var wrong: [String] = []
        for room in ["Daemon", "subledger"] {
            for file in try House.files(in: "Sources/\(room)", endings: [".swift"]) {
                for line in file.lines where line.contains(statement) {
                    wrong.append("\(file.path): \(line)")
                }
            }
        }
        #expect(wrong == [])
    }

    private static func mayImport(_ room: String, _ imported: String) -> Bool {
        guard let below = floors[imported] else { return true }  // not ours
        guard let above = floors[room] else { return false }
        // A mechanism on the ground floor stands on a C library of the same floor.
        let onLibrary = imported.hasPrefix("C") && imported != "Crypto" && above == 0
        return (below < above || onLibrary) && forbidden[room]?.contains(imported) != true
    }

    private static func imports(of file: House.File) -> [String] {
        let form =
            #/^\s*(?:@\w+\s+|public\s+|internal\s+|private\s+|package\s+)*import\s+(?:struct\s+|enum\s+|class\s+|func\s+)?(\w+)/#
        return file.lines.compactMap { $0.firstMatch(of: form).map { String($0.output.1) } }
    }

    /// The rooms that Package.swift declares, each with the names in its list of dependencies.
    private static func declared() -> [(room: String, names: [String])] {
        let text = House.text("Package.swift")
        let form = #/room\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?\s*\)/#
        return text.matches(of: form).map { match in
            let names = (match.output.2 ?? "").matches(of: #/"(\w+)"/#).map { String($0.output.1) }
            return (String(match.output.1), names)
        }
    }
}
