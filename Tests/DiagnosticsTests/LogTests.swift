import Diagnostics
import Synchronization
import Testing

/// Keeps what was written, for a test to read.
final class KeptLines: LogSink {
    private let kept = Mutex<[String]>([])

    func write(_ line: String) { kept.withLock { $0.append(line) } }

    var lines: [String] { kept.withLock { $0 } }
}

/// A clock that a test moves.
final class HandClock: Sendable {
    private let second = Mutex<Int64>(1_750_000_000)

    var time: WallTime { WallTime(seconds: second.withLock { $0 }, milliseconds: 7) }

    func advance(seconds: Int64) { second.withLock { $0 += seconds } }
}

@Suite("A log")
struct LogTests {
    private let sink = KeptLines()
    private let clock = HandClock()
    private let log: Logger

    init() {
        let clock = clock
        log = Logger(sink: sink, clock: { clock.time })
    }

    @Test("writes one JSON object a line, the fields in the order given")
    func form() {
        log.write(.info, "ledger opened", ["position": "12", "cluster": "embedded"])
        #expect(
            sink.lines == [
                #"{"time":"2025-06-15T15:06:40.007Z","level":"info","message":"ledger opened","#
                    + #""position":"12","cluster":"embedded"}"#
            ])
    }

    @Test("escapes what would end a line or a string, and keeps its own names to itself")
    func escapes() {
        log.write(.error, "a \"b\"\n\\ \u{1}\u{2028}é", ["level": "x"])
        #expect(
            sink.lines == [
                #"{"time":"2025-06-15T15:06:40.007Z","level":"error","#
                    + #""message":"a \"b\"\n\\ \u0001\u2028é","level_":"x"}"#
            ])
    }

    @Test("leaves out what is below its level")
    func levels() {
        log.write(.debug, "hidden")
        log.setMinimum(.debug)
        log.write(.debug, "shown")
        log.setMinimum(.error)
        log.write(.warning, "hidden")
        #expect(sink.lines.count == 1)
        #expect(sink.lines.first?.contains("shown") == true)
    }

    @Test("holds back a line that repeats, and tells how often once ten seconds are over")
    func repeats() {
        for _ in 1...100 { log.write(.warning, "lost the database") }
        #expect(sink.lines.count == 5)
        log.write(.warning, "lost the database", ["attempt": "2"])
        #expect(sink.lines.count == 6)
        clock.advance(seconds: 10)
        log.write(.warning, "lost the database")
        #expect(sink.lines.count == 7)
        #expect(sink.lines.last?.hasSuffix(#""lost the database","repeated":95}"#) == true)
    }

    @Test("tells what it held back even when the line never comes again")
    func sweeps() {
        for _ in 1...8 { log.write(.warning, "slow disk") }
        clock.advance(seconds: 11)
        log.write(.info, "stopping")
        #expect(sink.lines.count == 7)
        #expect(sink.lines[5].hasSuffix(#""slow disk","repeated":3}"#))
        #expect(sink.lines[6].hasSuffix(#""stopping"}"#))
    }

    @Test("stays bounded when every line differs")
    func bounded() {
        for number in 1...2_000 { log.write(.info, "line \(number)") }
        #expect(sink.lines.count == 2_000)
    }
}
