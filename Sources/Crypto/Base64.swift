/// Base64 as RFC 4648 defines it, read tolerantly and written exactly.
public enum Base64 {
    /// Which 64 characters are written.
    public enum Alphabet: Sendable {
        /// With `+` and `/`, padded with `=`.
        case standard
        /// With `-` and `_`, not padded.
        case urlSafe
    }

    /// What a space inside the text is.
    public enum Space: Sendable {
        /// White space, skipped.
        case ignored
        /// A `+` that a form decoder turned into a space.
        case plus
    }

    /// The bytes that a text in either alphabet writes.
    ///
    /// White space is skipped, padding is optional, unused bits at the end are not looked at.
    ///
    /// - Shape: `nil` for a foreign character, for characters after the padding, for wrong
    ///   padding and for a length that no encoder makes (1 more than a multiple of 4).
    public static func decode(
        _ text: some Collection<UInt8>, spaces: Space = .ignored
    ) -> [UInt8]? {
        let decoded = text.withContiguousStorageIfAvailable { decode($0, spaces: spaces) }
        if let decoded { return decoded }
        return Array(text).withUnsafeBufferPointer { decode($0, spaces: spaces) }
    }

    /// The bytes that a text in either alphabet writes.
    public static func decode(_ text: String, spaces: Space = .ignored) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0, spaces: spaces) }
    }

    /// The bytes that a text in the URL-safe alphabet writes, without padding or white space.
    ///
    /// - Shape: `nil` for every other text, even where `decode` would read it.
    public static func decodeURLSafe(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.withUnsafeBufferPointer { decodeExactly($0, urlSafeValues) }
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, spaces: Space
    ) -> [UInt8]? {
        if let bytes = decodeExactly(text, values) { return bytes }
        guard let compact = normalized(text, spaces: spaces) else { return nil }
        return compact.withUnsafeBufferPointer { decodeExactly($0, values) }
    }

    /// The text in the URL-safe alphabet, without padding or white space.
    ///
    /// The unused bits of the last character stay as they are.
    ///
    /// - Shape: `nil` where `decode` answers `nil`, apart from an impossible length.
    public static func normalized(
        _ text: some Collection<UInt8>, spaces: Space = .ignored
    ) -> [UInt8]? {
        var compact: [UInt8] = []
        compact.reserveCapacity(text.count)
        var padding = 0
        for character in text {
            switch character {
            case 0x09, 0x0A, 0x0B, 0x0C, 0x0D:
                continue
            case UInt8(ascii: " ") where spaces == .ignored:
                continue
            case UInt8(ascii: "="):
                padding += 1
                continue
            default:
                break
            }
            guard padding == 0 else { return nil }
            switch character {
            case UInt8(ascii: "+"), UInt8(ascii: " "): compact.append(UInt8(ascii: "-"))
            case UInt8(ascii: "/"): compact.append(UInt8(ascii: "_"))
            default:
                guard values[Int(character)] != foreign else { return nil }
                compact.append(character)
            }
        }
        guard padding == 0 || (padding <= 2 && (compact.count + padding).isMultiple(of: 4))
        else { return nil }
        return compact
    }

    /// Decodes text that has nothing but characters of an alphabet.
    private static func decodeExactly(
        _ text: UnsafeBufferPointer<UInt8>, _ values: [UInt8]
    ) -> [UInt8]? {
        let count = text.count
        guard count % 4 != 1 else { return nil }
        let whole = count / 4
        let rest = count % 4
        let size = whole * 3 + (rest == 0 ? 0 : rest - 1)
        var foreignSeen: UInt32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { output, initialized in
            values.withUnsafeBufferPointer { table in
                var source = 0
                var target = 0
                for _ in 0..<whole {
                    let a = UInt32(table[Int(text[source])])
                    let b = UInt32(table[Int(text[source &+ 1])])
                    let c = UInt32(table[Int(text[source &+ 2])])
                    let d = UInt32(table[Int(text[source &+ 3])])
                    foreignSeen |= a | b | c | d
                    let word = a << 18 | b << 12 | c << 6 | d
                    output[target] = UInt8(truncatingIfNeeded: word >> 16)
                    output[target &+ 1] = UInt8(truncatingIfNeeded: word >> 8)
                    output[target &+ 2] = UInt8(truncatingIfNeeded: word)
                    source &+= 4
                    target &+= 3
                }
                guard rest > 0 else { return }
                let a = UInt32(table[Int(text[source])])
                let b = UInt32(table[Int(text[source &+ 1])])
                let c = rest == 3 ? UInt32(table[Int(text[source &+ 2])]) : 0
                foreignSeen |= a | b | c
                let word = a << 18 | b << 12 | c << 6
                output[target] = UInt8(truncatingIfNeeded: word >> 16)
                if rest == 3 { output[target &+ 1] = UInt8(truncatingIfNeeded: word >> 8) }
            }
            initialized = size
        }
        // A foreign character has a bit that no value of an alphabet has.
        return foreignSeen & UInt32(foreign) == 0 ? bytes : nil
    }

    /// The text that writes these bytes.
    public static func encode(_ bytes: [UInt8], as alphabet: Alphabet = .standard) -> String {
        String(decoding: encodedBytes(bytes, as: alphabet), as: UTF8.self)
    }

    /// The text that writes these bytes, as ASCII.
    public static func encodedBytes(_ bytes: [UInt8], as alphabet: Alphabet) -> [UInt8] {
        let characters = alphabet == .standard ? standardCharacters : urlSafeCharacters
        let rest = bytes.count % 3
        let tail = rest == 0 ? 0 : alphabet == .standard ? 4 : rest + 1
        let size = bytes.count / 3 * 4 + tail
        return [UInt8](unsafeUninitializedCapacity: size) { output, initialized in
            bytes.withUnsafeBufferPointer { bytes in
                characters.withUnsafeBufferPointer { characters in
                    encode(bytes, characters, into: output)
                }
            }
            initialized = size
        }
    }

    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ characters: UnsafeBufferPointer<UInt8>,
        into output: UnsafeMutableBufferPointer<UInt8>
    ) {
        var target = 0
        func write(_ word: UInt32, _ count: UInt32) {
            for index in 0..<count {
                output[target] = characters[Int(word >> (18 &- 6 &* index) & 63)]
                target &+= 1
            }
        }
        let whole = bytes.count / 3 * 3
        for source in stride(from: 0, to: whole, by: 3) {
            let high = UInt32(bytes[source]) << 16 | UInt32(bytes[source &+ 1]) << 8
            write(high | UInt32(bytes[source &+ 2]), 4)
        }
        guard whole < bytes.count else { return }
        let second = whole + 1 < bytes.count ? UInt32(bytes[whole + 1]) << 8 : 0
        write(UInt32(bytes[whole]) << 16 | second, UInt32(bytes.count - whole) + 1)
        while target < output.count {
            output[target] = UInt8(ascii: "=")
            target += 1
        }
    }

    private static let foreign: UInt8 = 0x80
    private static let letters =
        Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let standardCharacters = letters + Array("+/".utf8)
    private static let urlSafeCharacters = letters + Array("-_".utf8)

    /// The value of each character in either alphabet, `foreign` for all others.
    private static let values = table(of: [standardCharacters, urlSafeCharacters])
    private static let urlSafeValues = table(of: [urlSafeCharacters])

    private static func table(of alphabets: [[UInt8]]) -> [UInt8] {
        var values = [UInt8](repeating: foreign, count: 256)
        for alphabet in alphabets {
            for (value, character) in alphabet.enumerated() {
                values[Int(character)] = UInt8(value)
            }
        }
        return values
    }
}
