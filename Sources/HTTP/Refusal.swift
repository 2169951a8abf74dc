/// Why a request was not understood; its connection is answered and then closed.
///
/// - Source: RFC 9112 and RFC 9110, where they leave a choice the stricter reading.
public enum Refusal: Error, Equatable, Sendable {
    /// Not `method SP target SP version`.
    case badRequestLine
    /// A character that a method cannot have, or far too many.
    case badMethod
    /// A target in a form or with a character that is not allowed.
    case badTarget
    /// A line that ends otherwise than with CR LF.
    case badLineEnding
    /// A field continued on the next line.
    case foldedField
    /// An empty field name, or a character that a name cannot have, such as a space.
    case badFieldName
    /// A control character in a field's value.
    case badFieldValue
    /// No `Host`, several, or one that is no host.
    case badHost
    /// A `Content-Length` that is no number, or more than one.
    case badContentLength
    /// Both `Content-Length` and `Transfer-Encoding`, or the latter in HTTP/1.0.
    case ambiguousFraming
    /// A `Transfer-Encoding` that names `chunked` twice or nothing.
    case badTransferEncoding
    /// A chunk that is not framed as one.
    case badChunk
    /// The client was too slow.
    case tooSlow
    /// The body is longer than allowed here.
    case bodyTooLarge(limit: Int)
    /// The target is longer than allowed.
    case targetTooLong
    /// An expectation other than `100-continue`.
    case unknownExpectation
    /// The fields are more, or longer, than allowed.
    case headTooLarge
    /// A coding other than `chunked`.
    case unknownTransferEncoding
    /// A method that this server cannot serve on any target.
    case methodNotSupported
    /// A version other than 1.0 and 1.1.
    case versionNotSupported

    /// The status of the answer.
    public var status: Int {
        switch self {
        case .badRequestLine, .badMethod, .badTarget, .badLineEnding, .foldedField, .badFieldName,
            .badFieldValue, .badHost, .badContentLength, .ambiguousFraming, .badTransferEncoding,
            .badChunk:
            400
        case .tooSlow: 408
        case .bodyTooLarge: 413
        case .targetTooLong: 414
        case .unknownExpectation: 417
        case .headTooLarge: 431
        case .unknownTransferEncoding, .methodNotSupported: 501
        case .versionNotSupported: 505
        }
    }

    /// What was wrong, for the client's engineer.
    ///
    /// - Shape: one English sentence; never a byte of the request.
    public var detail: String {
        switch self {
        case .badRequestLine: "The request line is not a method, a target and a version."
        case .badMethod: "The method is not a token."
        case .badTarget: "The request target has a form or a character that is not allowed."
        case .badLineEnding: "A line does not end with CR LF."
        case .foldedField: "A header field is continued on the next line."
        case .badFieldName: "A header field's name is empty or has a character that is not allowed."
        case .badFieldValue: "A header field's value has a character that is not allowed."
        case .badHost: "A request must name exactly one host."
        case .badContentLength: "Content-Length must be given once, as a number."
        case .ambiguousFraming: "The end of the body is not told unambiguously."
        case .badTransferEncoding: "Transfer-Encoding must end with chunked, once."
        case .badChunk: "The body is not framed in chunks."
        case .tooSlow: "The request did not arrive in time."
        case .bodyTooLarge(let limit): "The body may have at most \(limit) bytes here."
        case .targetTooLong: "The request target is too long."
        case .unknownExpectation: "The only expectation known is 100-continue."
        case .headTooLarge: "The header section is too large."
        case .unknownTransferEncoding: "The only transfer coding known is chunked."
        case .methodNotSupported: "This server does not know the method."
        case .versionNotSupported: "The versions supported are HTTP/1.1 and HTTP/1.0."
        }
    }
}
