import Crypto
import Domain
import Foundation

/// What a store signs with, kept in a folder: a chain like Apple's, and the key of its server API.
struct Authority: Sendable {
    /// The root that a verifier is told to trust.
    let root: Certificate
    /// The names and the key by which clients of the server API show who they are.
    let credentials: Credentials
    /// Who answers for the certificates.
    let responder: StatusResponder
    private let key: P256.PrivateKey
    /// The first segment of everything that is signed.
    private let header: String

    /// The authority of a folder, made when it has none yet.
    ///
    /// - Parameter responder: where its certificates say that their status can be asked for.
    init(directory: String, responder address: String? = nil) throws(SimulatorError) {
        let folder = Folder(path: directory)
        try folder.create()
        do throws(KeyError) {
            let chain = try SigningChain(folder, responder: address)
            root = chain.root.certificate
            key = chain.leaf.key
            responder = chain.responder
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

/// A root, an intermediate and a leaf, each with its key.
private struct SigningChain {
    /// A certificate and its key.
    struct Link {
        let certificate: Certificate
        let key: P256.PrivateKey
    }

    let root: Link
    let intermediate: Link
    let leaf: Link

    private static let names = (
        root: "Store Simulator Root", intermediate: "Store Simulator Intermediate",
        leaf: "Store Simulator Leaf"
    )

    var certificates: [Certificate] {
        [leaf.certificate, intermediate.certificate, root.certificate]
    }

    var responder: StatusResponder {
        StatusResponder(issued: [
            StatusResponder.Issued(
                certificate: leaf.certificate, issuer: intermediate.certificate,
                key: intermediate.key),
            StatusResponder.Issued(
                certificate: intermediate.certificate, issuer: root.certificate, key: root.key),
        ])
    }

    /// The chain of a folder, with what is missing made.
    ///
    /// A root that is there stays, whatever else has to be made anew: clients trust it.
    init(_ folder: Folder, responder: String?) throws(KeyError) {
        let kept = try Self.kept("root", in: folder)
        root = if let kept { kept } else { try Self.makeRoot() }
        let below = kept == nil ? nil : try Self.kept("intermediate", in: folder)
        let last = below == nil ? nil : try Self.kept("leaf", in: folder)
        if let below, let last,
            CertificateStatus.responder(of: last.certificate) == responder
        {
            intermediate = below
            leaf = last
        } else {
            intermediate = try Self.make(
                CertificateMaker(
                    name: Self.names.intermediate, isAuthority: true,
                    marker: CertificateMaker.Marker.intermediate, responder: responder),
                issuer: root, Self.names.root)
            leaf = try Self.make(
                CertificateMaker(
                    name: Self.names.leaf, marker: CertificateMaker.Marker.leaf,
                    responder: responder),
                issuer: intermediate, Self.names.intermediate)
        }
        for (name, link) in [("root", root), ("intermediate", intermediate), ("leaf", leaf)] {
            try folder.write(name + ".der", link.certificate.der)
            try folder.write(name + "-key.pem", Array(try link.key.pem().utf8), isSecret: true)
        }
    }

    private static func makeRoot() throws(KeyError) -> Link {
        let key = P256.PrivateKey()
        let maker = CertificateMaker(name: names.root, isAuthority: true)
        return Link(certificate: try maker.certificate(of: key, issuer: nil), key: key)
    }

    private static func make(
        _ maker: CertificateMaker, issuer: Link, _ name: String
    ) throws(KeyError) -> Link {
        let key = P256.PrivateKey()
        let certificate = try maker.certificate(
            of: key, issuer: (issuer.certificate, issuer.key, name))
        return Link(certificate: certificate, key: key)
    }

    private static func kept(_ name: String, in folder: Folder) throws(KeyError) -> Link? {
        guard let der = folder.read(name + ".der"), let pem = folder.read(name + "-key.pem")
        else { return nil }
        return Link(
            certificate: try Certificate(der: der),
            key: try P256.PrivateKey(pem: String(decoding: pem, as: UTF8.self)))
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
