import Crypto
import Domain
import Foundation

/// The folder that an export is written into; a file that is named there is whole.
struct ExportFolder {
    let path: String

    /// Makes the folder unless it is there.
    init(_ path: String) throws(DaemonError) {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .fileUnusable(path, why: "it cannot be made, or is no folder")
        }
    }

    /// What an earlier run wrote; `nil` when nothing was.
    ///
    /// - Throws: `fileUnusable` when it is something else, or a file is missing or was changed.
    func manifest() throws(DaemonError) -> Manifest? {
        let file = path + "/" + Manifest.name
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        guard let json = try? JSON.parse(Array(data)), let manifest = Manifest(json) else {
            throw .fileUnusable(file, why: "it is no manifest of an export")
        }
        for known in manifest.files {
            let attributes = try? FileManager.default.attributesOfItem(
                atPath: path + "/" + known.name)
            guard (attributes?[.size] as? NSNumber)?.int64Value == known.bytes else {
                throw .fileUnusable(
                    path + "/" + known.name, why: "it is not as the manifest says; export anew")
            }
        }
        return manifest
    }

    /// Writes the manifest; a run that is interrupted leaves the old one or the new one.
    func write(_ manifest: Manifest) throws(DaemonError) {
        var bytes = manifest.json.bytes()
        bytes.append(UInt8(ascii: "\n"))
        let file = try PartFile(self, Manifest.name)
        try file.write(bytes)
        _ = try file.finish()
    }
}

/// A file in the making, which has its name once it is whole and on the disk.
final class PartFile {
    private let handle: FileHandle
    private let target: String
    private var hash = SHA256()
    private(set) var byteCount: Int64 = 0

    init(_ folder: ExportFolder, _ name: String) throws(DaemonError) {
        target = folder.path + "/" + name
        // What an interrupted run left of it is overwritten.
        guard FileManager.default.createFile(atPath: target + ".part", contents: nil),
            let handle = FileHandle(forWritingAtPath: target + ".part")
        else { throw .fileUnusable(target, why: "it cannot be written") }
        self.handle = handle
    }

    func write(_ bytes: [UInt8]) throws(DaemonError) {
        hash.update(bytes)
        byteCount += Int64(bytes.count)
        do {
            try handle.write(contentsOf: bytes)
        } catch {
            throw .fileUnusable(target, why: "it cannot be written: \(error.localizedDescription)")
        }
    }

    /// Gives the file its name.
    ///
    /// - Returns: SHA-256 of its bytes, hex.
    func finish() throws(DaemonError) -> String {
        do {
            try handle.synchronize()
            try handle.close()
        } catch {
            throw .fileUnusable(target, why: "it cannot be written: \(error.localizedDescription)")
        }
        guard rename(target + ".part", target) == 0 else {
            throw .fileUnusable(target, why: "it cannot be given its name")
        }
        let hash = exchange(&hash, with: SHA256())
        return hash.finish().description
    }
}
