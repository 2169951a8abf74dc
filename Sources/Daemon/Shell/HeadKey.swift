import Crypto
import Foundation

/// The key that signs heads: kept with the daemon, outside the database.
enum HeadKey {
    static func load(_ directory: String) throws(DaemonError) -> Ed25519.PrivateKey {
        let path = directory + "/head-key.pem"
        do {
            if let data = FileManager.default.contents(atPath: path) {
                return try Ed25519.PrivateKey(pem: String(decoding: data, as: UTF8.self))
            }
            let key = Ed25519.PrivateKey()
            let isMade = FileManager.default.createFile(
                atPath: path, contents: Data(try key.pem().utf8),
                attributes: [.posixPermissions: 0o600])
            guard isMade else {
                throw DaemonError.fileUnusable(path, why: "it cannot be written")
            }
            return key
        } catch let error as DaemonError {
            throw error
        } catch {
            throw .fileUnusable(path, why: "\(error)")
        }
    }
}
