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

    static func * (left: Fraction, right: Fraction) -> Fraction {
        Fraction(left.numerator * right.numerator, left.denominator * right.denominator)
    }

    static func gcd(_ left: UInt128, _ right: UInt128) -> UInt128 {
        var (left, right) = (left, right)
        while right != 0 { (left, right) = (right, left % right) }
        return left
    }
}

/// A sum of rational numbers, exact however many there are.
public struct ExactSum: Sendable, Hashable {
    /// Numerators by their denominator; none is zero.
    private var parts: [Int128: Int128] = [:]

    /// Nothing.
    public init() {}

    /// One number times a fraction.
    init(_ value: Int64, times fraction: Fraction = .one) { add(value, times: fraction) }

    mutating func add(_ value: some BinaryInteger, times fraction: Fraction = .one) {
        add(Int128(value) * fraction.numerator, over: fraction.denominator)
    }

    mutating func add(_ other: ExactSum, sign: Int128 = 1) {
        for (denominator, numerator) in other.parts { add(sign * numerator, over: denominator) }
    }

    private mutating func add(_ numerator: Int128, over denominator: Int128) {
        guard numerator != 0 else { return }
        let sum = parts[denominator, default: 0] + numerator
        parts[denominator] = sum == 0 ? nil : sum
    }

    /// The sum as one fraction, not in its lowest terms.
    private var whole: (numerator: WideInteger, denominator: WideInteger) {
        // In a fixed order, so that the work is the same each time; the value is anyway.
        var level = parts.sorted { $0.key < $1.key }.map {
            (numerator: WideInteger($0.value), denominator: WideInteger($0.key))
        }
        while level.count > 1 {
            level = stride(from: 0, to: level.count, by: 2).map { place in
                guard place + 1 < level.count else { return level[place] }
                let (left, right) = (level[place], level[place + 1])
                return (
                    left.numerator * right.denominator + right.numerator * left.denominator,
                    left.denominator * right.denominator
                )
            }
        }
        return level.first ?? (WideInteger(0), WideInteger(1))
    }

    /// Rounded half to even.
    var rounded: Int64 {
        let (numerator, denominator) = whole
        return Int64(clamping: numerator.rounded(dividedBy: denominator))
    }

    /// This divided by another sum, times `scale`, rounded half to even; `nil` when that is zero.
    func rounded(dividedBy other: ExactSum, scale: Int64 = 1) -> Int64? {
        let (mine, others) = (whole, other.whole)
        guard !others.numerator.isZero else { return nil }
        var numerator = mine.numerator * others.denominator * WideInteger(Int128(scale))
        if others.numerator.isNegative { numerator = numerator.negated }
        let denominator = mine.denominator * others.numerator.magnitude
        return Int64(clamping: numerator.rounded(dividedBy: denominator))
    }

    var isNegative: Bool { whole.numerator.isNegative }
    var isZero: Bool { parts.isEmpty || whole.numerator.isZero }
}
