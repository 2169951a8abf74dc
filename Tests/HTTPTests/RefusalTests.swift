import HTTP
import Testing

/// What a fresh parser says to all of this at once.
func steps(
    _ bytes: [UInt8], pieces: [Int] = [], bodyLimit: Int = 100
) -> [String] {
    var parser = Parser { _, path in path == "/big" ? 100_000 : bodyLimit }
    var said: [String] = []
    var start = 0
    for end in pieces + [bytes.count] {
        parser.append(Array(bytes[start..<end]))
        start = end
        listening: while true {
            switch parser.next() {
            case .needsMore: break listening
            case .continueExpected: said.append("continue")
            case .request(let request): said.append(told(request))
            case .refused(let refusal):
                if said.last != "\(refusal)" { said.append("\(refusal)") }
                break listening
            }
        }
    }
    return said
}

func told(_ request: Request) -> String {
    let fields = request.headers.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
    let body = String(decoding: request.body, as: UTF8.self)
    return "\(request.method) \(request.target) [\(fields)] \(body)"
}

/// `GET /` with these lines after its first, and without a host unless they name one.
private func get(_ lines: String...) -> String {
    "GET / HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
}

private func post(_ lines: String..., body: String) -> String {
    "POST / HTTP/1.1\r\nHost: h\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + body
}

private let chunked = "Transfer-Encoding: chunked"

@Suite("A parser refuses")
struct RefusalTests {
    static let table: [(String, Refusal)] = [
        // The request line.
        ("GET /\r\n\r\n", .badRequestLine),
        ("GET\r\n\r\n", .badMethod),
        ("GET  / HTTP/1.1\r\n", .badRequestLine),
        ("GET / HTTP/1.1 \r\n", .badRequestLine),
        ("GET /  HTTP/1.1\r\n", .badRequestLine),
        ("GET / http/1.1\r\n", .badRequestLine),
        ("GET / HTTP/1.10\r\n", .badRequestLine),
        ("GET / HTTP/1.2\r\n", .versionNotSupported),
        ("GET / HTTP/0.9\r\n", .versionNotSupported),
        ("PRI * HTTP/2.0\r\n", .versionNotSupported),
        (" GET / HTTP/1.1\r\n", .badMethod),
        ("G(T / HTTP/1.1\r\n", .badMethod),
        ("GET\u{0} / HTTP/1.1\r\n", .badMethod),
        ("\u{16}\u{3}\u{1}", .badMethod),
        (String(repeating: "A", count: 33) + " / HTTP/1.1\r\n", .badMethod),
        ("CONNECT h:443 HTTP/1.1\r\n", .methodNotSupported),
        ("\n", .badMethod),
        ("\r\n\r\nGET / HTTP/1.1\r\n", .badMethod),
        ("\rGET / HTTP/1.1\r\n", .badLineEnding),
        // The target.
        ("GET x HTTP/1.1\r\n", .badTarget),
        ("GET * HTTP/1.1\r\n", .badTarget),
        ("GET /a\tb HTTP/1.1\r\n", .badTarget),
        ("GET /a\u{0}b HTTP/1.1\r\n", .badTarget),
        ("GET /a\u{7f}b HTTP/1.1\r\n", .badTarget),
        ("GET /ä HTTP/1.1\r\n", .badTarget),
        ("GET /a#b HTTP/1.1\r\n", .badTarget),
        ("GET /a\\b HTTP/1.1\r\n", .badTarget),
        ("GET /a%2 HTTP/1.1\r\n", .badTarget),
        ("GET /a%zz HTTP/1.1\r\n", .badTarget),
        ("GET /a%00b HTTP/1.1\r\n", .badTarget),
        ("GET /a%ff HTTP/1.1\r\n", .badTarget),
        ("GET /?a=%c3 HTTP/1.1\r\n", .badTarget),
        ("GET /?a=\"b\" HTTP/1.1\r\n", .badTarget),
        ("GET http:/// HTTP/1.1\r\n", .badTarget),
        ("GET http://u@h/ HTTP/1.1\r\n", .badTarget),
        ("GET ftp://h/ HTTP/1.1\r\n", .badTarget),
        ("GET /" + String(repeating: "a", count: 8_192) + " HTTP/1.1\r\n", .targetTooLong),
        ("GET /" + String(repeating: "a", count: 90_000), .targetTooLong),
        // Line ends.
        ("GET / HTTP/1.1\nHost: h\n\n", .badLineEnding),
        (get("Host: h\nX: y"), .badLineEnding),
        ("GET / HTTP/1.1\r\nHost: h\r\n\n", .badLineEnding),
        (get("Host: h\rX: y"), .badFieldValue),
        (get("Host: h", "X: y\r"), .badFieldValue),
        // Fields.
        (get("Host: h", " folded"), .foldedField),
        (get("\tHost: h"), .foldedField),
        (get("Host : h"), .badFieldName),
        (get("Host: h", ": y"), .badFieldName),
        (get("Host: h", "X"), .badFieldName),
        (get("Host: h", "X Y: z"), .badFieldName),
        (get("Host: h", "X\u{0}: z"), .badFieldName),
        (get("Host: h", "Ä: z"), .badFieldName),
        (get("Host: h", "X: a\u{0}b"), .badFieldValue),
        (get("Host: h", "X: a\u{7f}b"), .badFieldValue),
        (get("Host: h", "X: a\u{b}b"), .badFieldValue),
        (get("Host: h", "X: " + String(repeating: "a", count: 33_000)), .headTooLarge),
        (get("Host: h", String(repeating: "X: y\r\n", count: 128) + "X: y"), .headTooLarge),
        // The host.
        (get(), .badHost),
        (get("X: y"), .badHost),
        (get("Host:"), .badHost),
        (get("Host: a", "Host: a"), .badHost),
        (get("Host: a, b"), .badHost),
        (get("Host: a b"), .badHost),
        (get("Host: a/b"), .badHost),
        (get("Host: u@h"), .badHost),
        // The length.
        (post("Content-Length: 1", "Content-Length: 1", body: "a"), .badContentLength),
        (post("Content-Length: 1", "Content-Length: 2", body: "a"), .badContentLength),
        (post("Content-Length: 1, 1", body: "a"), .badContentLength),
        (post("Content-Length: +1", body: "a"), .badContentLength),
        (post("Content-Length: -1", body: "a"), .badContentLength),
        (post("Content-Length: 0x1", body: "a"), .badContentLength),
        (post("Content-Length: 1 1", body: "a"), .badContentLength),
        (post("Content-Length:", body: "a"), .badContentLength),
        (post("Content-Length: 101", body: ""), .bodyTooLarge(limit: 100)),
        (post("Content-Length: 99999999999999999999", body: ""), .bodyTooLarge(limit: 100)),
        (post("Content-Length: 18446744073709551617", body: ""), .bodyTooLarge(limit: 100)),
        // The transfer coding.
        (post(chunked, "Content-Length: 1", body: ""), .ambiguousFraming),
        (post("Content-Length: 0", chunked, body: ""), .ambiguousFraming),
        (post(chunked, chunked, body: ""), .badTransferEncoding),
        (post("Transfer-Encoding: chunked, chunked", body: ""), .badTransferEncoding),
        (post("Transfer-Encoding:", body: ""), .badTransferEncoding),
        (post("Transfer-Encoding: gzip, chunked", body: ""), .unknownTransferEncoding),
        (post("Transfer-Encoding: identity", body: ""), .unknownTransferEncoding),
        (post("Transfer-Encoding: xchunked", body: ""), .unknownTransferEncoding),
        (post("Transfer-Encoding: chunked;q=1", body: ""), .unknownTransferEncoding),
        ("POST / HTTP/1.0\r\n" + chunked + "\r\n\r\n", .ambiguousFraming),
        // Chunks.
        (post(chunked, body: "\r\n"), .badChunk),
        (post(chunked, body: "g\r\n"), .badChunk),
        (post(chunked, body: "0x1\r\na\r\n"), .badChunk),
        (post(chunked, body: " 1\r\na\r\n"), .badChunk),
        (post(chunked, body: "1 \r\na\r\n"), .badChunk),
        (post(chunked, body: "1\na\r\n"), .badLineEnding),
        (post(chunked, body: "1;a\u{0}\r\n"), .badChunk),
        (post(chunked, body: "1;" + String(repeating: "a", count: 1_100)), .badChunk),
        (post(chunked, body: "1000000000000000\r\n"), .badChunk),
        (post(chunked, body: "1\r\nab"), .badChunk),
        (post(chunked, body: "1\r\na\n"), .badChunk),
        (post(chunked, body: "65\r\n"), .bodyTooLarge(limit: 100)),
        (
            post(chunked, body: "64\r\n" + String(repeating: "a", count: 100) + "\r\n1\r\n"),
            .bodyTooLarge(limit: 100)
        ),
        (post(chunked, body: "0\r\nX : y\r\n"), .badFieldName),
        (post(chunked, body: "0\r\n x\r\n"), .foldedField),
        (post(chunked, body: "0\r\nX: " + String(repeating: "a", count: 33_000)), .headTooLarge),
        // Expectations.
        (post("Expect: the worst", body: ""), .unknownExpectation),
    ]

    @Test("what RFC 9112 does not allow or another reader could take otherwise", arguments: table)
    func refuses(text: String, refusal: Refusal) {
        #expect(steps(Array(text.utf8)) == ["\(refusal)"])
    }

    @Test("the same however the bytes are split", arguments: table)
    func splits(text: String, refusal: Refusal) {
        let bytes = Array(text.utf8)
        // Every split of the short ones, and some of the long ones.
        for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 300)) {
            #expect(steps(bytes, pieces: [place]) == ["\(refusal)"])
        }
    }

    @Test("a flood of chunk extensions, though each is short")
    func extensions() {
        let chunk = "1;" + String(repeating: "e", count: 1_000) + "\r\na\r\n"
        let text = post(chunked, body: String(repeating: chunk, count: 17))
        #expect(steps(Array(text.utf8)) == ["badChunk"])
    }

    @Test("everything after what it has refused")
    func staysRefused() {
        let text = "G(T / HTTP/1.1\r\n\r\n" + get("Host: h")
        #expect(steps(Array(text.utf8), pieces: [18]) == ["badMethod"])
    }

    @Test("with the status that says what was wrong")
    func statuses() {
        let statuses: [(Refusal, Int)] = [
            (.badHost, 400), (.tooSlow, 408), (.bodyTooLarge(limit: 1), 413), (.targetTooLong, 414),
            (.unknownExpectation, 417), (.headTooLarge, 431), (.unknownTransferEncoding, 501),
            (.methodNotSupported, 501), (.versionNotSupported, 505),
        ]
        for (refusal, status) in statuses { #expect(refusal.status == status) }
    }
}
