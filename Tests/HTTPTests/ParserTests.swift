import HTTP
import Testing

@Suite("A parser")
struct ParserTests {
    private static let messages = """
        GET /a?b=c HTTP/1.1
        Host: one:8080
        X-Empty:
        X-Padded:  \t y z \t

        POST / HTTP/1.1
        host: [::1]
        content-length: 5

        helloPOST /big HTTP/1.1
        Host: h
        Transfer-Encoding: Chunked
        Expect: 100-continue

        5;ext="v"
        hello
        00006
         world
        0
        Trailer: dropped

        POST / HTTP/1.1
        Host: h
        Content-Length: 0


        OPTIONS * HTTP/1.0

        GET http://h?x HTTP/1.1
        Host: other


        """

    private static let bytes = Array(
        messages.split(separator: "\n", omittingEmptySubsequences: false)
            .joined(separator: "\r\n").utf8)

    private static let expected = [
        "GET /a?b=c [Host=one:8080|X-Empty=|X-Padded=y z] ",
        "POST / [host=[::1]|content-length=5] hello",
        "continue",
        "POST /big [Host=h|Transfer-Encoding=Chunked|Expect=100-continue] hello world",
        "POST / [Host=h|Content-Length=0] ",
        "OPTIONS * [] ",
        "GET http://h?x [Host=other] ",
    ]

    @Test("reads one message after the other")
    func sequence() {
        #expect(steps(Self.bytes) == Self.expected)
    }

    @Test("reads the same messages wherever the bytes are split, in two or in three")
    func splits() {
        let count = Self.bytes.count
        for first in 0...count {
            #expect(steps(Self.bytes, pieces: [first]) == Self.expected)
        }
        for first in stride(from: 0, through: count, by: 3) {
            for second in stride(from: first, through: count, by: 7) {
                #expect(steps(Self.bytes, pieces: [first, second]) == Self.expected)
            }
        }
    }

    @Test("reads the same messages byte by byte")
    func single() {
        #expect(steps(Self.bytes, pieces: Array(1..<Self.bytes.count)) == Self.expected)
    }

    @Test("survives random and mutated bytes, and says the same however they are split")
    func fuzz() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(state: seed)
        for round in 0..<4_000 {
            var bytes = round % 4 == 0 ? [] : Self.bytes
            if bytes.isEmpty {
                let count = Int.random(in: 0..<200, using: &random)
                bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                mutate(&bytes, using: &random)
            }
            let whole = steps(bytes)
            let places = (0..<Int.random(in: 1...5, using: &random)).map { _ in
                Int.random(in: 0...bytes.count, using: &random)
            }
            let split = steps(bytes, pieces: places.sorted())
            #expect(whole == split, "seed \(seed), round \(round)")
        }
    }

    private func mutate(_ bytes: inout [UInt8], using random: inout SplitMix) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let special: [UInt8] = [0, 9, 10, 13, 32, 37, 44, 58, 59, 127, 128, 255]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[place] = special.randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(special.randomElement(using: &random) ?? 0, at: place)
        default:
            let end = Int.random(in: place...bytes.count, using: &random)
            bytes.insert(contentsOf: bytes[place..<end], at: place)
        }
    }

    @Test("asks how long a body may be by method and path, before it reads one")
    func bodyLimit() {
        var parser = Parser { method, path in method == "PUT" && path == "/a%20b" ? 3 : 0 }
        parser.append(
            Array("PUT /a%20b?q HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc".utf8))
        guard case .request(let request) = parser.next() else {
            Issue.record("no request")
            return
        }
        #expect(request.body == Array("abc".utf8))
        parser.append(Array("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n".utf8))
        guard case .refused(.bodyTooLarge(limit: 0)) = parser.next() else {
            Issue.record("not refused")
            return
        }
    }
}

@Suite("A request")
struct RequestTests {
    @Test("has the decoded parts of its path, with an escaped slash within a part")
    func segments() throws {
        let table: [(String, [String])] = [
            ("/", []), ("/a", ["a"]), ("/a/", ["a", ""]), ("//a", ["", "a"]),
            ("/a%2Fb/c%20d", ["a/b", "c d"]), ("/%C3%A4+", ["ä+"]), ("/a?b/c", ["a"]),
            ("http://h", []), ("http://h/x/y", ["x", "y"]),
        ]
        for (target, segments) in table {
            #expect(try Request(method: "GET", target: target).segments == segments)
        }
    }

    @Test("has the decoded items of its query, where a plus is a space")
    func query() throws {
        let request = try Request(method: "GET", target: "/?a=1&b&&c=x+y%2B%26=z&a=")
        #expect(
            request.query == [
                QueryItem(name: "a", value: "1"), QueryItem(name: "b", value: ""),
                QueryItem(name: "c", value: "x y+&=z"), QueryItem(name: "a", value: ""),
            ])
        #expect(request.path == "/")
    }

    @Test("finds fields in any case, the first or all of them")
    func headers() throws {
        let request = try Request(
            method: "GET", target: "/", headers: [Header("X-A", "1"), Header("x-a", "2")])
        #expect(request.header("x-A") == "1")
        #expect(request.headers("X-a") == ["1", "2"])
        #expect(request.header("X-B") == nil)
    }

    @Test("cannot be made of what a server would refuse")
    func refused() {
        #expect(throws: Refusal.badTarget) { try Request(method: "GET", target: "x") }
    }
}

/// Random numbers that a seed repeats.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
