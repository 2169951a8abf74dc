import Crypto
import Domain
import Foundation

/// What a store signs with, kept in a folder: a chain like Apple's, and the key of its server API.
struct Authority: Sendable {
    /// The root that a verifier is told to trust.
    let root: Certificate
    /// The names and the key by which clients of the server API show who they are.
    let credentials: Credentials
    private let key: P256.PrivateKey
    /// The first segment of everything that is signed.
    private let header: String

    /// The authority of a folder, made when it has none yet.
    init(directory: String) throws(SimulatorError) {
        let folder = Folder(path: directory)
        try folder.create()
        do throws(KeyError) {
            let kept = try SigningChain.kept(in: folder)
            let chain = if let kept { kept } else { try SigningChain() }
            try chain.keep(in: folder)
            root = chain.root
            key = chain.key
            header = Self.header(chain.certificates)
            credentials = try Credentials(folder)
        } catch {
            throw .folderUnusable(directory, why: "\(error)")
        }
    }

    /// A compact JWS over a payload.
    func sign(_ payload: JSON) -> String {
        let text = header + "." + Base64.encode(payload.bytes(), as: .urlSafe)
        guard let signature = try? key.signature(for: Array(text.utf8)) else {
            preconditionFailure("a fresh key of P-256 does not sign")
        }
        return text + "." + Base64.encode(signature, as: .urlSafe)
    }

    private static func header(_ certificates: [Certificate]) -> String {
        let x5c = certificates.map { JSON.string(Base64.encode($0.der)) }
        let header = JSON(members: ["alg": .string("ES256"), "x5c": .array(x5c)])
        return Base64.encode(header.bytes(), as: .urlSafe)
    }
}

/// A root, an intermediate, a leaf, and the leaf's key.
private struct SigningChain {
    let root: Certificate
    let intermediate: Certificate
    let leaf: Certificate
    let key: P256.PrivateKey

    var certificates: [Certificate] { [leaf, intermediate, root] }

    /// A fresh chain, whose upper keys are forgotten at once.
    init() throws(KeyError) {
        let rootKey = P256.PrivateKey()
        let intermediateKey = P256.PrivateKey()
        key = P256.PrivateKey()
        var maker = CertificateMaker(name: "Store Simulator Root", isAuthority: true)
        let rootName = maker.name
        root = try maker.certificate(of: rootKey, issuer: nil)
        maker = CertificateMaker(
            name: "Store Simulator Intermediate", isAuthority: true,
            marker: CertificateMaker.Marker.intermediate)
        let intermediateName = maker.name
        intermediate = try maker.certificate(
            of: intermediateKey, issuer: (root, rootKey, rootName))
        maker = CertificateMaker(
            name: "Store Simulator Leaf", marker: CertificateMaker.Marker.leaf)
        leaf = try maker.certificate(
            of: key, issuer: (intermediate, intermediateKey, intermediateName))
    }

    private init(
        root: Certificate, intermediate: Certificate, leaf: Certificate, key: P256.PrivateKey
    ) {
        self.root = root
        self.intermediate = intermediate
        self.leaf = leaf
        self.key = key
    }

    /// The chain that a folder holds; `nil` unless all of it is there.
    static func kept(in folder: Folder) throws(KeyError) -> SigningChain? {
        guard let root = folder.read("root.der"),
            let intermediate = folder.read("intermediate.der"),
            let leaf = folder.read("leaf.der"), let key = folder.read("leaf-key.pem")
        else { return nil }
        return SigningChain(
            root: try Certificate(der: root), intermediate: try Certificate(der: intermediate),
            leaf: try Certificate(der: leaf),
            key: try P256.PrivateKey(pem: String(decoding: key, as: UTF8.self)))
    }

    func keep(in folder: Folder) throws(KeyError) {
        try folder.write("root.der", root.der)
        try folder.write("intermediate.der", intermediate.der)
        try folder.write("leaf.der", leaf.der)
        try folder.write("leaf-key.pem", Array(try key.pem().utf8), isSecret: true)
    }
}

/// Who may call the server API: an issuer, a key's name, and the key.
struct Credentials: Sendable {
    let issuerId: String
    let keyId: String
    let publicKey: P256.PublicKey

    /// The credentials of a folder, made when it has none yet.
    init(_ folder: Folder) throws(KeyError) {
        let names = folder.read("simulator.json").flatMap { try? JSON.parse($0) }
        issuerId = names?["issuerId"]?.text ?? UUID().uuidString.lowercased()
        keyId =
            names?["keyId"]?.text ?? String(Base64.encode(randomBytes(12), as: .urlSafe).prefix(10))
        let key: P256.PrivateKey
        if let pem = folder.read("AuthKey.p8") {
            key = try P256.PrivateKey(pem: String(decoding: pem, as: UTF8.self))
        } else {
            key = P256.PrivateKey()
            try folder.write("AuthKey.p8", Array(try key.pem().utf8), isSecret: true)
        }
        publicKey = try key.publicKey
        let written = JSON(members: ["issuerId": .string(issuerId), "keyId": .string(keyId)])
        try folder.write("simulator.json", written.bytes() + [UInt8(ascii: "\n")])
    }
}

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
