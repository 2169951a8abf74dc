import Foundation

/// The package's own sources, as files.
enum House {
    /// The folder that holds Package.swift.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// One file of the package.
    struct File {
        /// From the package's root, such as `Sources/Domain/Instant.swift`.
        var path: String
        var text: String

        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

        /// The room or suite it belongs to, such as `Domain`.
        var room: String {
            let parts = path.split(separator: "/")
            return parts.count > 2 ? String(parts[1]) : String(parts[0])
        }
    }

    /// Every file below a folder whose name ends so, hidden ones left out, sorted by path.
    static func files(in folder: String, endings: [String]) throws -> [File] {
        let top = root.appendingPathComponent(folder)
        let found = FileManager.default.enumerator(
            at: top, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
        var files: [File] = []
        while let url = found?.nextObject() as? URL {
            guard endings.contains(where: url.lastPathComponent.hasSuffix) else { continue }
            let path = folder + "/" + url.path.dropFirst(top.path.count + 1)
            files.append(File(path: path, text: try String(contentsOf: url, encoding: .utf8)))
        }
        return files.sorted { $0.path < $1.path }
    }

    /// One file by its path from the root; empty when there is none.
    static func text(_ path: String) -> String {
        (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
    }
}
