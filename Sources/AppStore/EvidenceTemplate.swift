import Crypto

/// Signed text in a compact form, from which the exact bytes are reproduced.
///
/// A notification repeats the same certificates in each of its three texts, twice of it base64
/// within base64. Here every text is taken apart, payloads are kept decoded, certificates are named
/// by their digest, and account tokens are left out, so that each can be kept, and erased, elsewhere.
///
/// The compact form is binary. Numbers are unsigned LEB128; `bytes` are a number and so many bytes.
///
///     form     := 0 text                     raw: the rest is the text as it arrived
///               | 1 jws                      version 1
///               | 2 payload                  an answer that nobody signed
///     jws      := layout header payload signature
///     layout   := flags width bytes bytes bytes   how base64 was written, see `Layout`; a single 0
///                                            is the canonical way
///     header   := 32 bytes                   SHA-256 of the canonical header segment
///     payload  := number piece…              that many pieces, joined
///     piece    := 0 bytes                    as they are
///               | 1 number                   the account token of this index, from 0
///               | 2 jws                      a text signed inside
///     signature := bytes                     decoded
public struct EvidenceTemplate: Sendable, Hashable {
    /// The compact form.
    public let bytes: [UInt8]
    /// The header segments that it names.
    public let certificates: [Digest: [UInt8]]
    /// The account tokens that it leaves out, exactly as written, each once.
    public let tokens: [String]
    /// Whether the text is kept as it arrived, because no template reproduces it.
    public var isRaw: Bool { bytes.first == TemplateFormat.raw }

    /// Whether the text is no signed one, but an answer in JSON.
    public static func isAnswer(_ bytes: [UInt8]) -> Bool { bytes.first == TemplateFormat.answer }

    /// The compact form of a text; raw when restoring it would not give the same bytes.
    public static func make(_ text: [UInt8]) -> EvidenceTemplate {
        var writer = TemplateWriter()
        if let written = writer.answer(text) ?? writer.template(of: text) {
            let template = EvidenceTemplate(
                bytes: written, certificates: writer.certificates, tokens: writer.tokens)
            let restored = try? restore(
                written, certificates: { template.certificates[$0] }, tokens: template.tokens)
            if restored == text { return template }
        }
        return EvidenceTemplate(bytes: [TemplateFormat.raw] + text, certificates: [:], tokens: [])
    }

    /// The exact text that a compact form stands for.
    ///
    /// - Throws: `TemplateError` when a part kept elsewhere is missing, or the form is damaged.
    public static func restore(
        _ bytes: [UInt8], certificates: (Digest) -> [UInt8]?, tokens: [String]
    ) throws(TemplateError) -> [UInt8] {
        guard let form = bytes.first else { throw .damaged(at: 0) }
        switch form {
        case TemplateFormat.raw:
            return Array(bytes.dropFirst())
        case TemplateFormat.answer:
            var reader = TemplateReader(bytes, from: 1)
            let text = try reader.payload(certificates: certificates, tokens: tokens, depth: 0)
            guard reader.isAtEnd else { throw .damaged(at: reader.index) }
            return text
        case TemplateFormat.version1:
            var reader = TemplateReader(bytes, from: 1)
            let text = try reader.jws(certificates: certificates, tokens: tokens, depth: 0)
            guard reader.isAtEnd else { throw .damaged(at: reader.index) }
            return text
        default:
            throw .unknownVersion(form)
        }
    }

    /// The digests of the header segments that a compact form names.
    public static func certificates(namedBy bytes: [UInt8]) throws(TemplateError) -> Set<Digest> {
        var named: Set<Digest> = []
        var reader = TemplateReader(bytes, from: 1)
        switch bytes.first {
        case TemplateFormat.version1: try reader.scan(depth: 0) { named.insert($0) }
        case TemplateFormat.answer: try reader.scanPayload(depth: 0) { named.insert($0) }
        default: break
        }
        return named
    }
}

/// Why a compact form could not be restored.
public enum TemplateError: Error, Equatable, Sendable {
    /// It names certificates that are not at hand.
    case certificatesMissing(Digest)
    /// It leaves out an account token that is not at hand: it may have been erased.
    case tokenMissing(index: Int)
    /// It is written in a version that is not known here.
    case unknownVersion(UInt8)
    /// It is not what was written, from this byte on.
    case damaged(at: Int)
}

/// The numbers of the compact form.
enum TemplateFormat {
    static let raw: UInt8 = 0
    static let version1: UInt8 = 1
    static let answer: UInt8 = 2
    static let literal: UInt8 = 0
    static let token: UInt8 = 1
    static let nested: UInt8 = 2
    /// How deep texts are taken apart.
    static let depthLimit = 4
}
