/// An integer of any size, for sums of fractions of many denominators.
struct WideInteger: Sendable, Hashable {
    private(set) var isNegative: Bool
    /// The size in digits of 32 bits, the lowest first, without zeros at the end.
    private var digits: [UInt32]

    init(_ number: Int128) {
        isNegative = number < 0
        digits = []
        var rest = number.magnitude
        while rest != 0 {
            digits.append(UInt32(truncatingIfNeeded: rest))
            rest >>= 32
        }
    }

    private init(isNegative: Bool, digits: [UInt32]) {
        var digits = digits
        while digits.last == 0 { digits.removeLast() }
        self.digits = digits
        self.isNegative = isNegative && !digits.isEmpty
    }

    var isZero: Bool { digits.isEmpty }
    var magnitude: WideInteger { WideInteger(isNegative: false, digits: digits) }
    var negated: WideInteger { WideInteger(isNegative: !isNegative, digits: digits) }

    static func * (left: WideInteger, right: WideInteger) -> WideInteger {
        guard !left.isZero, !right.isZero else { return WideInteger(0) }
        var product = [UInt32](repeating: 0, count: left.digits.count + right.digits.count)
        for (place, digit) in left.digits.enumerated() {
            var carry: UInt64 = 0
            for (other, factor) in right.digits.enumerated() {
                let sum =
                    UInt64(digit) * UInt64(factor) + UInt64(product[place + other]) + carry
                product[place + other] = UInt32(truncatingIfNeeded: sum)
                carry = sum >> 32
            }
            product[place + right.digits.count] = UInt32(carry)
        }
        return WideInteger(isNegative: left.isNegative != right.isNegative, digits: product)
    }

    static func + (left: WideInteger, right: WideInteger) -> WideInteger {
        if left.isNegative == right.isNegative {
            return WideInteger(
                isNegative: left.isNegative, digits: sum(left.digits, right.digits))
        }
        return isSmaller(left.digits, right.digits)
            ? WideInteger(
                isNegative: right.isNegative, digits: difference(right.digits, left.digits))
            : WideInteger(
                isNegative: left.isNegative, digits: difference(left.digits, right.digits))
    }

    static func - (left: WideInteger, right: WideInteger) -> WideInteger { left + right.negated }

    static func < (left: WideInteger, right: WideInteger) -> Bool { (left - right).isNegative }

    /// The nearest integer to this one divided by a positive one; a half goes to the even one.
    ///
    /// - Shape: held within what can be represented.
    func rounded(dividedBy divisor: WideInteger) -> Int128 {
        precondition(!divisor.isNegative && !divisor.isZero, "a divisor is positive")
        let size = magnitude
        let bits = max(0, 32 * (digits.count - divisor.digits.count + 1))
        var quotient: Int128 = 0
        for bit in stride(from: min(bits, 125), through: 0, by: -1) {
            let larger = quotient | (Int128(1) << Int128(bit))
            if !(size < divisor * WideInteger(larger)) { quotient = larger }
        }
        let rest = size - divisor * WideInteger(quotient)
        let twice = rest + rest
        if divisor < twice || (twice == divisor && quotient % 2 != 0) { quotient += 1 }
        return isNegative ? -quotient : quotient
    }

    private static func sum(_ left: [UInt32], _ right: [UInt32]) -> [UInt32] {
        var result: [UInt32] = []
        result.reserveCapacity(max(left.count, right.count) + 1)
        var carry: UInt64 = 0
        for place in 0..<max(left.count, right.count) {
            let mine = place < left.count ? UInt64(left[place]) : 0
            let others = place < right.count ? UInt64(right[place]) : 0
            let sum = mine + others + carry
            result.append(UInt32(truncatingIfNeeded: sum))
            carry = sum >> 32
        }
        if carry != 0 { result.append(UInt32(carry)) }
        return result
    }

    /// What a smaller or equal number leaves of a greater one.
    private static func difference(_ left: [UInt32], _ right: [UInt32]) -> [UInt32] {
        var result = left
        var borrow: Int64 = 0
        for place in left.indices {
            var rest = Int64(left[place]) - borrow
            if place < right.count { rest -= Int64(right[place]) }
            borrow = rest < 0 ? 1 : 0
            result[place] = UInt32(truncatingIfNeeded: rest)
        }
        return result
    }

    private static func isSmaller(_ left: [UInt32], _ right: [UInt32]) -> Bool {
        guard left.count == right.count else { return left.count < right.count }
        for place in left.indices.reversed() where left[place] != right[place] {
            return left[place] < right[place]
        }
        return false
    }
}
