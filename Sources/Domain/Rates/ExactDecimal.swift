/// A positive decimal number as it was written, never a binary fraction: `mantissa` divided by ten
/// to the `scale`.
public struct ExactDecimal: Sendable, Hashable, CustomStringConvertible {
    /// Its digits without the point.
    ///
    /// - Shape: from 1 to `largest`; ends in no zero unless `scale` is 0.
    public let mantissa: Int64
    /// How many of the digits come after the point, 0 to `longest`.
    public let scale: Int

    /// The largest mantissa.
    public static let largest: Int64 = 999_999_999_999
    /// The most digits after the point.
    public static let longest = 8

    /// The number that a text writes, such as `1.0823`.
    ///
    /// - Shape: digits with at most one point between them, in its shortest form; `nil` for
    ///   anything else, for zero, and for more digits than are kept exactly.
    public init?(_ text: some StringProtocol) {
        var mantissa: Int64 = 0
        var scale = 0
        var isAfterPoint = false
        var last: UInt8?
        for byte in text.utf8 {
            if byte == UInt8(ascii: ".") {
                guard !isAfterPoint, last != nil else { return nil }
                isAfterPoint = true
            } else {
                guard byte &- 0x30 < 10, mantissa <= ExactDecimal.largest else { return nil }
                mantissa = mantissa * 10 + Int64(byte - 0x30)
                if isAfterPoint { scale += 1 }
            }
            last = byte
        }
        guard let last, last != UInt8(ascii: ".") else { return nil }
        while scale > 0, mantissa % 10 == 0 {
            mantissa /= 10
            scale -= 1
        }
        guard (1...ExactDecimal.largest).contains(mantissa), scale <= ExactDecimal.longest else {
            return nil
        }
        self.mantissa = mantissa
        self.scale = scale
    }

    /// Ten to the `scale`.
    public var divisor: Int64 { (0..<scale).reduce(1) { power, _ in power * 10 } }

    /// The number in its shortest form.
    public var description: String {
        let digits = String(mantissa)
        guard scale > 0 else { return digits }
        let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
        return "\(padded.dropLast(scale)).\(padded.suffix(scale))"
    }
}
