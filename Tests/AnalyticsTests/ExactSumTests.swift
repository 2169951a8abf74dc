import TestLives
import Testing

@testable import Analytics

@Suite("A sum of fractions")
struct ExactSumTests {
    @Test("is exact whatever the denominators are, and does not depend on the order")
    func exact() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<cases(200, long: 5_000) {
            var parts: [(Int64, Fraction)] = (0..<20).map { _ in
                let value = Int64(random.below(2_000_000)) - 1_000_000
                return (
                    value,
                    Fraction(Int64(1 + random.below(100_000)), 1 + Int64(random.below(100_000)))
                )
            }
            var sum = ExactSum()
            for (value, fraction) in parts { sum.add(value, times: fraction) }
            parts.reverse()
            var rest = sum
            for (value, fraction) in parts { rest.add(-value, times: fraction) }
            #expect(rest.isZero)
            rest.add(1, times: Fraction(Int64(1), Int64(7_919)))
            #expect(!rest.isZero && !rest.isNegative)
            rest.add(-1, times: Fraction(Int64(1), Int64(7_907)))
            #expect(rest.isNegative)
        }
    }

    @Test("of a third, a third and a third is one, though no part is")
    func thirds() {
        var sum = ExactSum()
        // 1/2 + 1/3 + 1/6.
        for part in [2, 3, 6] as [Int64] { sum.add(1, times: Fraction(Int64(1), part)) }
        #expect(sum.rounded == 1)
        sum.add(-1)
        #expect(sum.isZero)
    }

    @Test(
        "is rounded half to even, on both sides of zero",
        arguments: [
            (1, 2, 0), (3, 2, 2), (5, 2, 2), (7, 2, 4), (-1, 2, 0), (-3, 2, -2), (-5, 2, -2),
            (7, 3, 2), (8, 3, 3), (-7, 3, -2), (-8, 3, -3), (0, 3, 0),
        ] as [(Int64, Int64, Int64)])
    func rounding(numerator: Int64, denominator: Int64, rounded: Int64) {
        #expect(ExactSum(numerator, times: Fraction(Int64(1), denominator)).rounded == rounded)
        // The same in parts of other denominators that cancel.
        var sum = ExactSum(numerator, times: Fraction(Int64(1), denominator))
        sum.add(1, times: Fraction(Int64(1), Int64(1_000_003)))
        sum.add(-2, times: Fraction(Int64(1), Int64(2_000_006)))
        #expect(sum.rounded == rounded)
        sum.add(5, times: Fraction(Int64(1), Int64(999_983)))
        sum.add(-5, times: Fraction(Int64(3), Int64(2_999_949)))
        #expect(sum.rounded == rounded)
    }

    @Test("stays exact with a denominator for each of many days")
    func many() {
        var sum = ExactSum()
        var backwards = ExactSum()
        let factors = (0..<3_000).map { Fraction(10_000, Int64(8_000 + $0)) }
        for factor in factors { sum.add(9_990, times: factor) }
        for factor in factors.reversed() { backwards.add(-9_990, times: factor) }
        let rounded = sum.rounded
        #expect(rounded > 0)
        // The rest is no more than half a unit, on whichever side.
        var rest = sum
        rest.add(-rounded)
        #expect((-1...1).contains(rest.rounded(dividedBy: ExactSum(1), scale: 2) ?? 9))
        rest.add(backwards)
        #expect(rest.rounded == -rounded)
    }

    @Test("divided by another is rounded once, and not at all by nothing")
    func ratios() {
        #expect(ExactSum(2).rounded(dividedBy: ExactSum(3), scale: 1_000_000) == 666_667)
        #expect(ExactSum(-2).rounded(dividedBy: ExactSum(3), scale: 1_000_000) == -666_667)
        #expect(ExactSum(2).rounded(dividedBy: ExactSum(-4), scale: 10) == -5)
        #expect(ExactSum(2).rounded(dividedBy: ExactSum()) == nil)
        let half = Fraction(Int64(1), Int64(2))
        #expect(
            ExactSum(1, times: half).rounded(dividedBy: ExactSum(3, times: half), scale: 3) == 1)
    }
}
