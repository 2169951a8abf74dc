import Crypto

/// Takes signed texts apart.
struct TemplateWriter {
    private(set) var certificates: [Digest: [UInt8]] = [:]
    private(set) var tokens: [String] = []

    /// The compact form of a text; `nil` when it is no compact JWS.
    mutating func template(of text: [UInt8]) -> [UInt8]? {
        var output = [TemplateFormat.version1]
        guard append(text, depth: 0, to: &output) else { return nil }
        return output
    }

    /// The compact form of an answer in JSON; `nil` when it is none.
    mutating func answer(_ text: [UInt8]) -> [UInt8]? {
        guard text.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return nil }
        var output = [TemplateFormat.answer]
        append(payload: text, depth: 0, to: &output)
        return output
    }

    private mutating func append(_ text: [UInt8], depth: Int, to output: inout [UInt8]) -> Bool {
        guard depth < TemplateFormat.depthLimit,
            let jws = try? CompactJWS(text),
            let header = try? Segment(jws.segments[0], named: "header", isRight: startsObject),
            let payload = try? Segment(jws.segments[1], named: "payload", isRight: startsObject),
            let signature = try? Segment(
                jws.segments[2], named: "signature",
                isRight: { $0.count == P256.signatureByteCount })
        else { return false }
        let isCanonical =
            !header.isRewritten && !payload.isRewritten && !signature.isRewritten
            && jws.segments.reduce(2) { $0 + $1.count } == text.count
        append(isCanonical ? Layout() : Layout(of: text), to: &output)
        output += digest(of: header.text).bytes
        append(payload: payload.bytes, depth: depth, to: &output)
        append(signature.bytes, to: &output)
        return true
    }

    private func startsObject(_ bytes: [UInt8]) -> Bool {
        bytes.first == UInt8(ascii: "{") && bytes.last == UInt8(ascii: "}")
    }

    private mutating func digest(of header: ArraySlice<UInt8>) -> Digest {
        if let known = certificates.first(where: { $0.value[...].isSame(as: header) }) {
            return known.key
        }
        let digest = SHA256.digest(of: header)
        certificates[digest] = Array(header)
        return digest
    }

    private func append(_ layout: Layout, to output: inout [UInt8]) {
        output.append(layout.flags)
        guard layout.flags & 8 != 0 else { return }
        append(number: layout.width, to: &output)
        for bytes in [layout.lineEnd, layout.prefix, layout.suffix] {
            append(bytes, to: &output)
        }
    }

    /// Writes a payload in pieces: what is signed inside, account tokens, and all between.
    private mutating func append(payload: [UInt8], depth: Int, to output: inout [UInt8]) {
        var pieces: [[UInt8]] = []
        var done = 0
        var name: Range<Int>?
        for text in StringRanges(payload) {
            defer { name = text }
            var piece: [UInt8] = []
            if let name, isAccountToken(payload, name, before: text) {
                let token = String(decoding: payload[text], as: UTF8.self)
                let index = tokens.firstIndex(of: token) ?? tokens.count
                if index == tokens.count { tokens.append(token) }
                piece.append(TemplateFormat.token)
                append(number: index, to: &piece)
            } else if text.count > 200, payload[text].starts(with: "eyJ".utf8) {
                piece.append(TemplateFormat.nested)
                guard append(Array(payload[text]), depth: depth + 1, to: &piece) else { continue }
            } else {
                continue
            }
            pieces.append(literal(payload[done..<text.lowerBound]))
            pieces.append(piece)
            done = text.upperBound
        }
        pieces.append(literal(payload[done...]))
        append(number: pieces.count, to: &output)
        for piece in pieces { output += piece }
    }

    /// The longest text that is taken for an account token. Units: bytes.
    private static let longestToken = 255

    /// Whether a text is an account token, and one that can be kept beside the record.
    private func isAccountToken(
        _ payload: [UInt8], _ name: Range<Int>, before text: Range<Int>
    ) -> Bool {
        guard
            payload[name].elementsEqual("appAccountToken".utf8)
                || payload[name].elementsEqual("app_account_token".utf8),
            (1...TemplateWriter.longestToken).contains(text.count), !payload[text].contains(0)
        else { return false }
        let between = payload[(name.upperBound + 1)..<(text.lowerBound - 1)]
        return between.contains(UInt8(ascii: ":"))
            && between.allSatisfy { $0 == UInt8(ascii: ":") || $0 <= 0x20 }
    }

    private func literal(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var piece = [TemplateFormat.literal]
        append(bytes, to: &piece)
        return piece
    }

    private func append(_ bytes: some Collection<UInt8>, to output: inout [UInt8]) {
        append(number: bytes.count, to: &output)
        output += bytes
    }

    private func append(number: Int, to output: inout [UInt8]) {
        var rest = UInt(number)
        while rest > 0x7F {
            output.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(rest))
    }
}

/// Where the texts in JSON are, in order, without their quotation marks.
struct StringRanges: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func next() -> Range<Int>? {
        let mark = UInt8(ascii: "\"")
        guard let start = bytes[index...].index(of: mark),
            var end = bytes[(start + 1)...].index(of: mark)
        else { return nil }
        while isEscaped(at: end, since: start) {
            guard let next = bytes[(end + 1)...].index(of: mark) else { return nil }
            end = next
        }
        index = end + 1
        return (start + 1)..<end
    }

    /// Whether an odd number of backslashes stands before a place.
    private func isEscaped(at place: Int, since start: Int) -> Bool {
        let slashes = bytes[(start + 1)..<place].reversed().prefix { $0 == UInt8(ascii: "\\") }
        return !slashes.count.isMultiple(of: 2)
    }
}
