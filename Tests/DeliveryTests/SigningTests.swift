import Delivery
import Domain
import Testing

@Suite("A signing key")
struct SigningTests {
    @Test("signs as Standard Webhooks' published example")
    func example() throws {
        let key = try #require(SigningKey(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = key.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test("may be written without its prefix, or be any text")
    func forms() throws {
        let bare = SigningKey(secret: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        #expect(bare == SigningKey(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let words = try #require(SigningKey(secret: "a secret in words"))
        #expect(
            words.signature(id: "7", timestamp: 1_614_265_330, body: Array("{}".utf8))
                == "v1,1x2AqWnAdeVrPkY6rBmcRzoyyOz+N+jO9vGz0/4g20w=")
    }

    @Test("is not made of a prefix before what is no base64, nor of nothing")
    func refused() {
        #expect(SigningKey(secret: "whsec_a secret in words!") == nil)
        #expect(SigningKey(secret: "whsec_") == nil)
        #expect(SigningKey(secret: "") == nil)
    }
}

@Suite("The retry schedule")
struct RetryScheduleTests {
    private let began = Instant("2026-01-01")!

    /// The delays in seconds while every attempt fails at once.
    private func delays(chance: Double) -> [Int64] {
        var (now, attempt, delays) = (began, Int64(1), [Int64]())
        while let next = RetrySchedule.next(
            after: attempt, began: began, now: now, chance: chance)
        {
            delays.append((next.milliseconds - now.milliseconds) / 1_000)
            (now, attempt) = (next, attempt + 1)
        }
        return delays
    }

    @Test("grows from five seconds to six hours, and ends after three days")
    func grows() {
        let delays = delays(chance: 0)
        #expect(delays.prefix(6) == [5, 10, 20, 40, 80, 160])
        #expect(delays.max() == 21_600)
        #expect(delays.reduce(0, +) == 259_200)
    }

    @Test("adds up to a tenth by chance")
    func jitter() {
        #expect(delays(chance: 1).prefix(3) == [5, 11, 22])
    }

    @Test("waits as long as the server asks, an hour at most")
    func asked() {
        func wait(_ field: String) -> Int64? {
            RetrySchedule.next(after: 1, began: began, now: began, asked: field, chance: 0)
                .map { ($0.milliseconds - began.milliseconds) / 1_000 }
        }
        #expect(wait("120") == 120)
        #expect(wait("1") == 5)
        #expect(wait("999999999999999999") == 3_600)
        #expect(wait("Thu, 01 Jan 2026 00:10:00 GMT") == 600)
        #expect(wait("Wed, 21 Oct 2026 07:28:00 GMT") == 3_600)
        #expect(wait("Wed, 31 Dec 2025 07:28:00 GMT") == 5)
        #expect(wait("soon") == 5)
    }
}
