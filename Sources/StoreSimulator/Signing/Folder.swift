import Crypto
import Foundation

/// A folder for a few small files.
struct Folder: Sendable {
    let path: String

    func create() throws(SimulatorError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
        } catch {
            throw .folderUnusable(path, why: "it can be neither found nor made")
        }
    }

    /// A file's bytes; `nil` when there is none.
    func read(_ name: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path + "/" + name).map { Array($0) }
    }

    /// Writes a file, readable by its owner alone when it is a secret.
    func write(_ name: String, _ bytes: [UInt8], isSecret: Bool = false) throws(KeyError) {
        if read(name) == bytes { return }
        let permissions = isSecret ? 0o600 : 0o644
        let isWritten = FileManager.default.createFile(
            atPath: path + "/" + name, contents: Data(bytes),
            attributes: [.posixPermissions: permissions])
        guard isWritten else { throw .refused(operation: "write \(name)") }
    }
}
