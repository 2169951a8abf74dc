import Crypto

/// Puts signed texts together again.
struct TemplateReader {
    private let bytes: [UInt8]
    private(set) var index: Int

    init(_ bytes: [UInt8], from index: Int) {
        self.bytes = bytes
        self.index = index
    }

    var isAtEnd: Bool { index == bytes.count }

    /// Reads one text.
    mutating func jws(
        certificates: (Digest) -> [UInt8]?, tokens: [String], depth: Int
    ) throws(TemplateError) -> [UInt8] {
        guard depth < TemplateFormat.depthLimit else { throw .damaged(at: index) }
        let layout = try layout()
        let digest = try digest()
        guard let header = certificates(digest) else { throw .certificatesMissing(digest) }
        let payload = try payload(certificates: certificates, tokens: tokens, depth: depth)
        let signature = try run()
        return layout.write([
            header, Base64.encodedBytes(payload, as: .urlSafe),
            Base64.encodedBytes(Array(signature), as: .urlSafe),
        ])
    }

    /// Reads pieces, joined.
    mutating func payload(
        certificates: (Digest) -> [UInt8]?, tokens: [String], depth: Int
    ) throws(TemplateError) -> [UInt8] {
        var payload: [UInt8] = []
        for _ in 0..<(try number()) {
            switch try byte() {
            case TemplateFormat.literal:
                payload += try run()
            case TemplateFormat.token:
                let token = try number()
                guard token < tokens.count else { throw .tokenMissing(index: token) }
                payload += Array(tokens[token].utf8)
            case TemplateFormat.nested:
                payload += try jws(certificates: certificates, tokens: tokens, depth: depth + 1)
            default:
                throw .damaged(at: index - 1)
            }
        }
        return payload
    }

    /// Visits the header digests of one text and of all inside it.
    mutating func scan(depth: Int, _ visit: (Digest) -> Void) throws(TemplateError) {
        guard depth < TemplateFormat.depthLimit else { throw .damaged(at: index) }
        _ = try layout()
        visit(try digest())
        try scanPayload(depth: depth, visit)
        _ = try run()
    }

    /// Visits the header digests in pieces.
    mutating func scanPayload(depth: Int, _ visit: (Digest) -> Void) throws(TemplateError) {
        for _ in 0..<(try number()) {
            switch try byte() {
            case TemplateFormat.literal: _ = try run()
            case TemplateFormat.token: _ = try number()
            case TemplateFormat.nested: try scan(depth: depth + 1, visit)
            default: throw .damaged(at: index - 1)
            }
        }
    }

    private mutating func layout() throws(TemplateError) -> Layout {
        let flags = try byte()
        guard flags < 16 else { throw .damaged(at: index - 1) }
        var layout = Layout(flags: flags)
        if flags & 8 != 0 {
            layout.width = try number()
            layout.lineEnd = Array(try run())
            layout.prefix = Array(try run())
            layout.suffix = Array(try run())
        }
        return layout
    }

    private mutating func digest() throws(TemplateError) -> Digest {
        let start = index
        guard bytes.count - index >= Digest.byteCount,
            let digest = Digest(Array(bytes[index..<(index + Digest.byteCount)]))
        else { throw .damaged(at: start) }
        index += Digest.byteCount
        return digest
    }

    private mutating func byte() throws(TemplateError) -> UInt8 {
        guard index < bytes.count else { throw .damaged(at: index) }
        defer { index += 1 }
        return bytes[index]
    }

    /// A number of at most 35 bits.
    private mutating func number() throws(TemplateError) -> Int {
        let start = index
        var number = 0
        var shift = 0
        while true {
            let byte = try byte()
            number |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 { break }
            guard shift < 35 else { throw .damaged(at: start) }
        }
        return number
    }

    private mutating func run() throws(TemplateError) -> ArraySlice<UInt8> {
        let start = index
        let count = try number()
        guard count <= bytes.count - index else { throw .damaged(at: start) }
        defer { index += count }
        return bytes[index..<(index + count)]
    }
}
