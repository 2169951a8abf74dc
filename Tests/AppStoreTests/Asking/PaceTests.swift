import AppStore
import Domain
import Testing

@Suite("A pace")
struct PaceTests {
    @Test("lets a few begin at once, and then one after each interval")
    func burst() {
        var pace = Pace(perSecond: 10, atOnce: 3)
        let waits = (0..<6).map { _ in pace.turn(at: .zero) }
        #expect(waits == [0, 0, 0, 100, 200, 300].map { .milliseconds($0) })
    }

    @Test("forgets what was long ago, and saves up no more than its few")
    func rest() {
        var pace = Pace(perSecond: 10, atOnce: 2)
        for _ in 0..<4 { _ = pace.turn(at: .zero) }
        #expect(pace.turn(at: .milliseconds(250)) == .milliseconds(50))
        let waits = (0..<3).map { _ in pace.turn(at: .seconds(60)) }
        #expect(waits == [0, 0, 100].map { .milliseconds($0) })
    }
}

@Suite("Retry-After")
struct RetryAfterTests {
    @Test(
        "is read as Apple writes it, and as everybody else does",
        arguments: [
            ("1749556680000", 1_749_556_680_000), (" 1749556680000 ", 1_749_556_680_000),
            ("1749556680", 1_749_556_680_000), ("120", 1_000_120_000), ("0", 1_000_000_000),
            ("-1", nil), ("soon", nil), ("", nil), (nil, nil),
            ("9223372036854775807", Int64.max), ("9223372036854775808", nil),
        ] as [(String?, Int64?)])
    func forms(field: String?, expected: Int64?) {
        #expect(
            RetryAfter.instant(field, now: Instant(milliseconds: 1_000_000_000))
                == expected.map(Instant.init(milliseconds:)))
    }
}
