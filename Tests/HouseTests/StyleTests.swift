import Foundation
import Testing

@Suite("The sources")
struct StyleTests {
    @Test("stay within 400 lines a file, and tests within 600")
    func sizes() throws {
        var long: [String] = []
        for (folder, most) in [("Sources", 400), ("schema", 400), ("Tests", 600)] {
            for file in try House.files(in: folder, endings: [".swift", ".sql", ".c", ".h"]) {
                let count = file.text.hasSuffix("\n") ? file.lines.count - 1 : file.lines.count
                if count > most { long.append("\(file.path): \(count)") }
            }
        }
        #expect(long == [])
    }

    @Test("have a top level of exactly what belongs there")
    func topLevel() throws {
        let found = try FileManager.default.contentsOfDirectory(atPath: House.root.path)
            .filter { !$0.hasPrefix(".") }
        #expect(
            Set(found) == ["Package.swift", "Sources", "Tests", "schema", "ops", "README.md"])
    }

    @Test("use the house's words")
    func words() throws {
        // Each with what to say instead. Whole words, in code and comments alike.
        let banned = [
            ("DTO", "observation"), ("aggregate", "stream"),
            ("subscriber", "what follows the ledger"),
            ("Manager", "what it does"), ("Helper", "what it does"), ("Utils", "what it does"),
            ("resync", "rebuild"), ("isActive", "entitlement(at:)"),
        ]
        var wrong: [String] = []
        for file in try House.files(in: "Sources", endings: [".swift"]) {
            for (word, instead) in banned {
                let form = try Regex("\\b\(word)\\b")
                for (number, line) in file.lines.enumerated() where line.contains(form) {
                    wrong.append("\(file.path):\(number + 1): \(word); say \(instead)")
                }
            }
        }
        #expect(wrong == [])
    }

    @Test("are finished, and name no path of the machine they were written on")
    func finished() throws {
        // Assembled, so that this file does not name what it looks for.
        let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]
        let paths = ["/ho" + "me/", "/Us" + "ers/", "/wo" + "rk/"]
        var wrong: [String] = []
        for folder in ["Sources", "Tests", "schema", "ops"] {
            let endings = [".swift", ".sql", ".h", ".md", ".sh", ".py", ".json5", "run", "test"]
            for file in try House.files(in: folder, endings: endings) {
                for (number, line) in file.lines.enumerated() {
                    let isUnfinished = try words.contains {
                        line.contains(try Regex("\\b\($0)\\b"))
                    }
                    let found =
                        isUnfinished || paths.contains { line.contains($0) }
                        || line.contains(House.root.path + "/")
                    if found { wrong.append("\(file.path):\(number + 1): \(line)") }
                }
            }
        }
        #expect(wrong == [])
    }

    @Test("say why wherever they leave the compiler's protection")
    func unprotected() throws {
        let form = #/\btry!|\bas! |\bfatalError\(|@unchecked Sendable|nonisolated\(unsafe\)/#
        var wrong: [String] = []
        for file in try House.files(in: "Sources", endings: [".swift"]) {
            let lines = file.lines
            for (number, line) in lines.enumerated() where line.contains(form) {
                let near = lines[max(0, number - 3)...number]
                if !near.contains(where: { $0.contains("//") }) {
                    wrong.append("\(file.path):\(number + 1)")
                }
            }
        }
        #expect(wrong == [])
    }

    @Test("say why a promise holds that the compiler cannot check, right above it")
    func promises() throws {
        let form =
            #/(class|struct|enum|extension) .*@unchecked Sendable|nonisolated\(unsafe\) (let|var)/#
        var wrong: [String] = []
        for folder in ["Sources", "Tests"] {
            for file in try House.files(in: folder, endings: [".swift"]) {
                let lines = file.lines.map { $0.drop { $0 == " " } }
                for (number, line) in lines.enumerated() where line.contains(form) {
                    let above = lines[..<number].reversed().prefix { $0.hasPrefix("//") }
                    if !above.contains(where: { $0.contains("holds because") }) {
                        wrong.append("\(file.path):\(number + 1)")
                    }
                }
            }
        }
        #expect(wrong == [])
    }
}
