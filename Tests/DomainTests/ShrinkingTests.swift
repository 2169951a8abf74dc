import Domain
import TestLives
import Testing

@Suite("A failing list")
struct ShrinkingTests {
    @Test("shrinks to what its failure needs, in its order")
    func needed() {
        let left = shrunk(Array(0..<100)) { $0.contains(60) && $0.contains(17) }
        #expect(left == [17, 60])
        #expect(shrunk([1, 2, 3]) { _ in true } == [])
    }

    @Test("stays as it is when every part of it holds")
    func whole() {
        #expect(shrunk([1, 2, 3]) { $0.count == 3 } == [1, 2, 3])
    }

    @Test("of observations comes down to the one that breaks a law, and is told")
    func law() throws {
        let broken = Broken(100) { observations, _ in
            !observations.contains { $0.transaction?.content.revokedAt != nil }
        }
        let found = try #require(broken)
        #expect(found.smallest.count == 1 && !found.seeds.isEmpty)
        #expect(found.description.contains("seed \(found.seeds[0]) comes down to"))
        #expect(found.description.contains("\"revocationDate\":"))
        let held = Broken(100) { _, _ in true }
        #expect(held == nil)
    }
}
