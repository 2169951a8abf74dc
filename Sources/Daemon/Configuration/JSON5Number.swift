/// The numbers of JSON5.
enum JSON5Number {
    /// The value so spelt: an integer where it is written as one and fits 64 bits.
    static func value(_ spelling: String) -> ConfigurationNode.Value? {
        let unsigned = spelling.drop { $0 == "+" || $0 == "-" }
        guard spelling.count - unsigned.count <= 1, let first = unsigned.first else { return nil }
        let sign = spelling.hasPrefix("-") ? "-" : ""
        if unsigned == "Infinity" || unsigned == "NaN" { return .number(spelling) }
        if unsigned.hasPrefix("0x") || unsigned.hasPrefix("0X") {
            let digits = unsigned.dropFirst(2)
            guard !digits.isEmpty, digits.allSatisfy(\.isHexDigit) else { return nil }
            return Int64(sign + digits, radix: 16).map { .integer($0) } ?? .number(spelling)
        }
        if unsigned.allSatisfy({ "0"..."9" ~= $0 }) {
            if first == "0", unsigned.count > 1 { return nil }
            return Int64(sign + unsigned).map { .integer($0) } ?? .number(spelling)
        }
        return isDecimal(unsigned) ? .number(spelling) : nil
    }

    private static func isDecimal(_ text: Substring) -> Bool {
        let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) {
            $0 == "e" || $0 == "E"
        }
        if parts.count == 2 {
            let exponent = parts[1].drop { $0 == "+" || $0 == "-" }
            guard parts[1].count - exponent.count <= 1, isDigits(exponent) else { return false }
        }
        let mantissa = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard mantissa.count <= 2 else { return false }
        let digits = mantissa.joined()
        if mantissa[0].count > 1, mantissa[0].first == "0" { return false }
        return isDigits(Substring(digits))
    }

    private static func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.allSatisfy { "0"..."9" ~= $0 }
    }
}
