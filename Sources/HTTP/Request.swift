/// One request, as it arrived; texts are made when they are asked for.
public struct Request: Sendable {
    let head: Head
    /// The body, without its framing.
    public let body: [UInt8]
    /// The address of the other end, without its port.
    public let peer: String

    init(head: Head, body: [UInt8], peer: String) {
        self.head = head
        self.body = body
        self.peer = peer
    }

    /// The request that a client would send for this; a length and a host are added.
    ///
    /// - Throws: what a server would answer to it.
    public init(
        method: String, target: String, headers: [Header] = [], body: [UInt8] = [],
        peer: String = ""
    ) throws(Refusal) {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        for header in headers { text += "\(header.name): \(header.value)\r\n" }
        if !body.isEmpty { text += "Content-Length: \(body.count)\r\n" }
        var parser = Parser(peer: peer) { _, _ in body.count }
        parser.append(Array(text.utf8) + Array("\r\n".utf8) + body)
        while true {
            switch parser.next() {
            case .request(let request):
                self = request
                return
            case .refused(let refusal): throw refusal
            case .continueExpected: continue
            case .needsMore: throw .badRequestLine
            }
        }
    }

    /// The method, in its own case.
    public var method: String { head.text(head.method) }

    /// The request target as it was sent.
    public var target: String { head.text(head.target) }

    /// The path as it was sent, with its escapes.
    ///
    /// - Shape: begins with a slash, or is `*`.
    public var path: String {
        head.path.isEmpty ? "/" : head.text(head.path)
    }

    /// The decoded parts of the path between slashes; an escaped slash stays within its part.
    ///
    /// - Shape: empty for `/`; two neighbouring slashes, or one at the end, make an empty part.
    public var segments: [String] {
        guard head.path.count > 1 else { return [] }
        return head.bytes[head.path].dropFirst()
            .split(separator: ASCII.slash, omittingEmptySubsequences: false)
            .map { Target.text($0) }
    }

    /// The decoded items of the query in their order; `+` is a space.
    ///
    /// - Shape: an item without `=` has an empty value; empty items are left out.
    public var query: [QueryItem] {
        guard let query = head.query else { return [] }
        return head.bytes[query].split(separator: ASCII.ampersand).map { item in
            let name = item.prefix { $0 != ASCII.equals }
            return QueryItem(
                name: Target.text(name, plusIsSpace: true),
                value: Target.text(item.dropFirst(name.count + 1), plusIsSpace: true))
        }
    }

    /// The fields in their order.
    public var headers: [Header] {
        head.fields.map { Header(head.text($0.name), head.text($0.value)) }
    }

    /// The value of the first field with this name, in any case.
    public func header(_ name: String) -> String? {
        for field in head.fields where head.matches(name, field.name) {
            return head.text(field.value)
        }
        return nil
    }

    /// The values of all fields with this name, in any case.
    public func headers(_ name: String) -> [String] {
        head.fields.filter { head.matches(name, $0.name) }.map { head.text($0.value) }
    }
}

/// One name and value of a query.
public struct QueryItem: Sendable, Hashable {
    /// What stood before the equals sign, decoded.
    public let name: String
    /// What stood after it, decoded.
    public let value: String

    /// An item of these.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// One field of a header section.
public struct Header: Sendable, Hashable {
    /// The name, in the case it was given.
    public let name: String
    /// The value, without white space around it.
    public let value: String

    /// A field of these.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The bytes of a request's head, and where its parts are.
final class Head: Sendable {
    struct Field {
        let name: Range<Int>
        let value: Range<Int>
    }

    let bytes: [UInt8]
    let method: Range<Int>
    let target: Range<Int>
    let path: Range<Int>
    let query: Range<Int>?
    let fields: [Field]
    /// Whether the version is 1.1, not 1.0.
    let isOneOne: Bool
    /// Whether the client lets the connection live on.
    let keepsAlive: Bool
    let isHEAD: Bool

    init(
        bytes: [UInt8], line: RequestLine, fields: [Field], keepsAlive: Bool
    ) {
        self.bytes = bytes
        method = line.method
        target = line.target
        path = line.path
        query = line.query
        isOneOne = line.isOneOne
        self.fields = fields
        self.keepsAlive = keepsAlive
        isHEAD = bytes.equals("HEAD", in: line.method)
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    func matches(_ name: String, _ range: Range<Int>) -> Bool {
        guard name.utf8.count == range.count else { return false }
        return zip(name.utf8, bytes[range]).allSatisfy {
            ASCII.lowercased($0) == ASCII.lowercased($1)
        }
    }
}
