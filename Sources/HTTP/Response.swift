/// What a request is answered.
public struct Response: Sendable {
    /// What follows the header section.
    public enum Body: Sendable {
        /// All of it at once, with its length.
        case bytes([UInt8])
        /// Pieces as they come, for long bodies and Server-Sent Events.
        ///
        /// The closure runs in the request's task. When it throws, the connection is cut so that
        /// the client sees that the body is not whole; when the client goes, even by closing its
        /// sending side only, the task is cancelled and writing throws.
        case stream(@Sendable (Writer) async throws -> Void)
    }

    /// The status code.
    ///
    /// - Shape: 200 to 599.
    public var status: Int
    /// The fields; length, date, connection and transfer coding are added by the server.
    public var headers: [Header]
    /// What follows them; not sent for `HEAD`, 204 and 304.
    public var body: Body

    /// An answer of these.
    public init(status: Int, headers: [Header] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// How the head of an answer depends on its request and its connection.
struct Framing {
    /// Whether the client speaks 1.1, not 1.0.
    var isOneOne = true
    var isHEAD = false
    var closes = false
}

extension Response {
    /// Whether there is a body at all, in this answer or in the one to `GET`.
    private var hasBody: Bool { status != 204 && status != 304 }

    /// Appends the head, and a body that is at hand; whether a stream has to follow.
    func write(
        to output: inout [UInt8], date: [UInt8], framing: Framing
    ) -> Bool {
        precondition((200...599).contains(status), "\(status) is no final status")
        output.append(contentsOf: "HTTP/1.1 ".utf8)
        output.append(decimal: status)
        output.append(ASCII.space)
        output.append(contentsOf: Self.reason(status).utf8)
        output.append(contentsOf: "\r\n".utf8)
        for header in headers where !Self.isServersOwn(header.name) {
            output.append(field: header.name)
            output.append(contentsOf: ": ".utf8)
            output.append(field: header.value)
            output.append(contentsOf: "\r\n".utf8)
        }
        output.append(contentsOf: date)
        if framing.closes {
            output.append(contentsOf: "Connection: close\r\n".utf8)
        } else if !framing.isOneOne {
            output.append(contentsOf: "Connection: keep-alive\r\n".utf8)
        }
        guard hasBody else {
            output.append(contentsOf: "\r\n".utf8)
            return false
        }
        switch body {
        case .bytes(let bytes):
            output.append(contentsOf: "Content-Length: ".utf8)
            output.append(decimal: bytes.count)
            output.append(contentsOf: "\r\n\r\n".utf8)
            if !framing.isHEAD { output.append(contentsOf: bytes) }
            return false
        case .stream:
            let coding = framing.isOneOne ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n"
            output.append(contentsOf: coding.utf8)
            return !framing.isHEAD
        }
    }

    /// Fields that say how the message is framed, which is the server's matter.
    private static func isServersOwn(_ name: String) -> Bool {
        let own: String
        switch name.utf8.count {
        case 4: own = "date"
        case 10: own = "connection"
        case 14: own = "content-length"
        case 17: own = "transfer-encoding"
        default: return false
        }
        return zip(name.utf8, own.utf8).allSatisfy { ASCII.lowercased($0) == $1 }
    }

    /// What a status means, in words that no client reads.
    ///
    /// - Source: RFC 9110, 15.1: its phrases may be replaced. That for 501 would speak of this server
    ///   as unfinished; what it answers so is a method or coding that it does not know.
    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Supported"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Other"
        }
    }
}

extension Array<UInt8> {
    mutating func append(decimal number: Int) {
        guard number >= 10 else {
            append(ASCII.zero + UInt8(number))
            return
        }
        var rest = number
        let start = count
        while rest > 0 {
            append(ASCII.zero + UInt8(rest % 10))
            rest /= 10
        }
        self[start...].reverse()
    }

    mutating func append(hexadecimal number: Int) {
        append(contentsOf: String(number, radix: 16).utf8)
    }

    /// Appends a name or value; what could end the field becomes a space.
    mutating func append(field text: String) {
        let start = count
        append(contentsOf: text.utf8)
        for index in start..<count where !ByteSet.fieldValue.contains(self[index]) {
            self[index] = ASCII.space
        }
    }
}
