import AppStore
import Domain
import Testing

@Suite("Patience")
struct PatienceTests {
    private let patience = Patience(
        attempts: 5, first: .milliseconds(100), longest: .milliseconds(350), total: .seconds(10))
    private let start = Instant(milliseconds: 1_000_000)

    private func pause(
        _ attempt: Int, after spent: Int64 = 0, until: Int64? = nil, chance: Double = 1
    ) -> Duration? {
        patience.pause(
            after: attempt, since: start, now: start.adding(milliseconds: spent),
            until: until.map { start.adding(milliseconds: $0) }, chance: chance)
    }

    @Test("doubles its pauses up to the longest, and ends after the last attempt")
    func grows() {
        #expect(
            (1...5).map { pause($0) } == [
                .milliseconds(100), .milliseconds(200), .milliseconds(350), .milliseconds(350),
                nil,
            ])
    }

    @Test("draws a pause evenly between nothing and its length")
    func chance() {
        #expect(pause(2, chance: 0) == .zero)
        #expect(pause(2, chance: 0.25) == .milliseconds(50))
        #expect(pause(2, chance: 7) == .milliseconds(200))
    }

    @Test("does not ask before it is wished, however short its own pause")
    func wished() {
        #expect(pause(1, until: 3_000, chance: 0) == .milliseconds(3_000))
        #expect(pause(1, until: 3_000, chance: 1) == .milliseconds(3_100))
    }

    @Test("takes a wish for a time that is past as none")
    func past() {
        #expect(pause(1, after: 500, until: 400, chance: 0.5) == .milliseconds(50))
    }

    @Test("gives up when the next attempt would begin too late")
    func late() {
        #expect(pause(1, after: 9_900) == .milliseconds(100))
        #expect(pause(1, after: 9_901) == nil)
        #expect(pause(1, until: 10_001, chance: 0) == nil)
        #expect(pause(1, until: .max / 2, chance: 0) == nil)
    }
}
