import Diagnostics
import Glibc
import Testing

@Suite("The sink on standard error")
struct StandardErrorSinkTests {
    /// A pipe, its reading end first.
    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(Glibc.pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: Int32, atMost count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = Glibc.read(descriptor, &bytes, count)
        return String(decoding: bytes.prefix(max(0, found)), as: UTF8.self)
    }

    @Test("writes a line and its newline")
    func writes() throws {
        let (reading, writing) = try Self.pipe()
        StandardErrorSink(descriptor: writing).write(#"{"a":"b"}"#)
        #expect(Self.read(reading, atMost: 100) == "{\"a\":\"b\"}\n")
        close(reading)
        close(writing)
    }

    @Test("drops lines that nobody reads instead of waiting, and says how many")
    func drops() throws {
        let (reading, writing) = try Self.pipe()
        let sink = StandardErrorSink(descriptor: writing)
        let line = "{\"fill\":\"" + String(repeating: "x", count: 4_000) + "\"}"
        for _ in 1...40 { sink.write(line) }
        var before = Self.read(reading, atMost: 1 << 20)
        #expect(before.split(separator: "\n").allSatisfy { $0 == line })
        let dropped = 40 - before.split(separator: "\n").count
        #expect(dropped > 0)
        sink.write(#"{"a":"b"}"#)
        before = Self.read(reading, atMost: 1 << 20)
        #expect(before == "{\"a\":\"b\",\"dropped\":\(dropped)}\n")
        close(reading)
        close(writing)
    }

    @Test("survives a reader that is gone")
    func gone() throws {
        let (reading, writing) = try Self.pipe()
        close(reading)
        StandardErrorSink(descriptor: writing).write("{}")
        close(writing)
    }

    @Test("shortens a line that would not fit in one write")
    func shortens() throws {
        let (reading, writing) = try Self.pipe()
        StandardErrorSink(descriptor: writing).write(String(repeating: "\"", count: 9_000))
        let line = Self.read(reading, atMost: 20_000)
        #expect(line.hasPrefix(#"{"level":"warning","message":"line too long","beginning":"\""#))
        #expect(line.utf8.count <= 4_096)
        close(reading)
        close(writing)
    }
}
