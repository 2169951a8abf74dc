import Domain
import Testing

@Suite("An instant")
struct InstantTests {
    @Test("is ordered by its milliseconds")
    func order() {
        #expect(Instant(milliseconds: 1) < Instant(milliseconds: 2))
    }
}
