import Crypto

/// A store of our own: an authority like Apple's that signs what a test wants to hear.
public struct TestStore: Sendable {
    /// What may be wrong with a chain.
    public struct Chain {
        /// Whether the leaf carries Apple's mark.
        public var marksLeaf = true
        /// Whether the intermediate carries Apple's mark.
        public var marksIntermediate = true
        /// Whether the intermediate is an authority.
        public var intermediateIsAuthority = true
        /// The leaf's first and last instant, in milliseconds since 1970.
        public var leafValidity: (from: Int64, through: Int64)?
        /// The intermediate's first and last instant, in milliseconds since 1970.
        public var intermediateValidity: (from: Int64, through: Int64)?
        /// The root's first and last instant, in milliseconds since 1970.
        public var rootValidity: (from: Int64, through: Int64)?
        /// Where the status of leaf and intermediate can be asked for.
        public var responder: String?

        /// A chain with nothing wrong.
        public init() {}
    }

    /// The authority that a verifier is told to trust.
    public let root: Certificate
    /// The authority between.
    public let intermediate: Certificate
    /// The certificate of the key that signs.
    public let leaf: Certificate
    /// The key that signs.
    public let key: P256.PrivateKey
    /// The key of the authority that a verifier is told to trust.
    public let rootKey: P256.PrivateKey
    /// The key of the authority between.
    public let intermediateKey: P256.PrivateKey

    /// A store whose chain has these faults.
    public init(_ chain: Chain = Chain()) throws {
        rootKey = P256.PrivateKey()
        intermediateKey = P256.PrivateKey()
        key = P256.PrivateKey()
        var root = CertificateMaker(name: "Test Root")
        root.isAuthority = true
        if let validity = chain.rootValidity { (root.notBefore, root.notAfter) = validity }
        self.root = try root.certificate(of: rootKey)
        var middle = CertificateMaker(name: "Test Intermediate")
        middle.isAuthority = chain.intermediateIsAuthority
        middle.responder = chain.responder
        middle.marker = chain.marksIntermediate ? CertificateMaker.Marker.intermediate : nil
        if let validity = chain.intermediateValidity {
            (middle.notBefore, middle.notAfter) = validity
        }
        intermediate = try middle.certificate(
            of: intermediateKey, issuer: root.name, signedBy: rootKey)
        var leaf = CertificateMaker(name: "Test Leaf")
        leaf.responder = chain.responder
        leaf.marker = chain.marksLeaf ? CertificateMaker.Marker.leaf : nil
        if let validity = chain.leafValidity { (leaf.notBefore, leaf.notAfter) = validity }
        self.leaf = try leaf.certificate(of: key, issuer: middle.name, signedBy: intermediateKey)
    }

    /// The chain as a header carries it, leaf first.
    public var x5c: [String] {
        [leaf, intermediate, root].map { Base64.encode($0.der) }
    }

    /// The header of what this store signs.
    public func header(alg: String = "ES256", x5c: [String]? = nil) -> String {
        let entries = (x5c ?? self.x5c).map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"alg\":\"\(alg)\",\"x5c\":[\(entries)]}"
    }

    /// A compact JWS over a payload, under the usual header or another one.
    public func sign(_ payload: String, header: String? = nil) throws -> String {
        let signed = [header ?? self.header(), payload]
            .map { Base64.encode(Array($0.utf8), as: .urlSafe) }
            .joined(separator: ".")
        let signature = try key.signature(for: Array(signed.utf8))
        return signed + "." + Base64.encode(signature, as: .urlSafe)
    }
}

/// Other ways to write the same compact JWS.
public enum Formatting: CaseIterable, Sendable {
    /// Each segment padded with `=`.
    case padded
    /// With `+` and `/`.
    case standard
    /// Broken into lines, with one at the end.
    case lines
    /// With `+` turned into a space.
    case spaces

    /// The JWS written that way.
    public func apply(to jws: String) -> String {
        switch self {
        case .padded:
            return jws.split(separator: ".", omittingEmptySubsequences: false)
                .map { $0 + String(repeating: "=", count: (4 - $0.count % 4) % 4) }
                .joined(separator: ".")
        case .standard:
            return String(
                jws.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        case .lines:
            var text = ""
            for (index, character) in jws.enumerated() {
                if index > 0, index.isMultiple(of: 64) { text += "\n" }
                text.append(character)
            }
            return text + "\n"
        case .spaces:
            return String(jws.map { $0 == "-" ? " " : $0 == "_" ? "/" : $0 })
        }
    }
}
