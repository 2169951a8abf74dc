/// A rational number; no denominator is zero.
public struct Fraction: Sendable, Hashable {
    let numerator: Int128
    let denominator: Int128

    /// A fraction in its lowest terms.
    init(_ numerator: Int128, _ denominator: Int128) {
        precondition(denominator > 0, "a denominator is positive")
        let divisor = max(1, Fraction.gcd(numerator.magnitude, denominator.magnitude))
        self.numerator = numerator / Int128(divisor)
        self.denominator = denominator / Int128(divisor)
    }

    /// A fraction in its lowest terms.
    init(_ numerator: Int64, _ denominator: Int64) {
        self.init(Int128(numerator), Int128(denominator))
    }

    static let one = Fraction(Int64(1), Int64(1))

    static func gcd(_ left: UInt128, _ right: UInt128) -> UInt128 {
        var (left, right) = (left, right)
        while right != 0 { (left, right) = (right, left % right) }
        return left
    }

    /// The nearest multiple of one part of `scale`, times `scale`; a half goes to the even one.
    func rounded(scale: Int128 = 1) -> Int128 {
        let scaled = numerator * scale
        var (quotient, rest) = scaled.quotientAndRemainder(dividingBy: denominator)
        if rest < 0 {
            rest += denominator
            quotient -= 1
        }
        let twice = rest * 2
        if twice > denominator || (twice == denominator && quotient % 2 != 0) { quotient += 1 }
        return quotient
    }
}

/// A sum of rational numbers, exact however many there are of few denominators.
public struct ExactSum: Sendable, Hashable {
    private var parts: [Int128: Int128] = [:]

    /// Nothing.
    public init() {}

    mutating func add(_ value: Int128, times fraction: Fraction = .one) {
        guard value != 0, fraction.numerator != 0 else { return }
        parts[fraction.denominator, default: 0] += value * fraction.numerator
    }

    mutating func add(_ other: ExactSum, sign: Int128 = 1) {
        for (denominator, numerator) in other.parts {
            parts[denominator, default: 0] += sign * numerator
        }
    }

    /// The sum as one fraction.
    var fraction: Fraction {
        parts.reduce(Fraction(Int64(0), Int64(1))) { sum, part in
            Fraction(
                sum.numerator * part.key + part.value * sum.denominator,
                sum.denominator * part.key)
        }
    }

    /// Rounded half to even.
    var rounded: Int64 { Int64(clamping: fraction.rounded()) }

    var isNegative: Bool { fraction.numerator < 0 }
    var isZero: Bool { fraction.numerator == 0 }
}
