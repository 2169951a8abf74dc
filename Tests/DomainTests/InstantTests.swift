import Domain
import TestLives
import Testing

@Suite("An instant")
struct InstantTests {
    @Test("is ordered by its milliseconds")
    func order() {
        #expect(Instant(milliseconds: 1) < Instant(milliseconds: 2))
    }

    @Test("between the years 0 and 9999 has a text that names it")
    func roundTrip() {
        var random = SplitMix64(seed: 3)
        let first = Instant(milliseconds: -62_167_219_200_000)
        #expect(first.description == "0000-01-01T00:00:00.000Z")
        for _ in 0..<cases(5000, long: 500_000) {
            let instant = Instant(
                milliseconds: Int64.random(
                    in: first.milliseconds...Instant.latestStated.milliseconds, using: &random))
            #expect(Instant(instant.description) == instant)
        }
    }

    @Test("has a text at both ends of what can be represented")
    func extremes() {
        #expect(Instant.distantPast.description == "-292275055-05-16T16:47:04.192Z")
        #expect(Instant.distantFuture.description == "292278994-08-17T07:12:55.807Z")
        #expect(Instant.latestStated.description == "9999-12-31T23:59:59.999Z")
    }

    @Test(
        "is read from RFC 3339 text",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01", 0), ("1969-12-31T23:59:59.999Z", -1),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000), ("2000-02-29", 951_782_400_000),
            ("2025-06-01T02:00:00+02:00", 1_748_736_000_000),
            ("2025-05-31T16:30:00-07:30", 1_748_736_000_000),
            ("2025-06-01t00:00:00z", 1_748_736_000_000),
            ("2025-06-01 00:00:00.1239Z", 1_748_736_000_123),
            ("2025-06-01T00:00:00.5Z", 1_748_736_000_500),
            ("0000-02-29T00:00:00Z", -62_162_121_600_000),
        ] as [(String, Int64)])
    func read(_ text: String, _ milliseconds: Int64) {
        #expect(Instant(text) == Instant(milliseconds: milliseconds))
    }

    @Test(
        "is not read from anything else",
        arguments: [
            "", "2025", "2025-13-01", "2025-00-01", "2025-01-00", "2025-02-29", "1900-02-29",
            "2025-04-31", "25-01-01", "2025-1-1", "2025-01-01T", "2025-01-01T24:00:00Z",
            "2025-01-01T00:60:00Z", "2025-01-01T00:00:60Z", "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.Z", "2025-01-01T00:00:00.1234567890Z", "2025-01-01T00:00:00+24:00",
            "2025-01-01T00:00:00+0200", "2025-01-01T00:00:00Zx", " 2025-01-01", "+2025-01-01",
            "-2025-01-01", "２０２５-01-01", "2025-01-01X00:00:00Z", "2025-01-01T00:00:00,5Z",
        ])
    func refused(_ text: String) {
        #expect(Instant(text) == nil)
    }

    @Test("stays within what can be represented when it is moved")
    func saturates() {
        #expect(Instant.distantFuture.adding(milliseconds: 1) == .distantFuture)
        #expect(Instant.distantPast.adding(milliseconds: -1) == .distantPast)
        #expect(Instant(milliseconds: 0).adding(days: .max) == .distantFuture)
        #expect(Instant(milliseconds: 0).adding(days: .min) == .distantPast)
        #expect(Instant(milliseconds: 5).adding(days: -1).milliseconds == -86_399_995)
    }
}
