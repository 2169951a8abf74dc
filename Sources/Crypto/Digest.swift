/// A SHA-256 digest: 32 bytes, kept inline.
public struct Digest: Sendable, Hashable {
    /// How many bytes a digest has.
    public static let byteCount = 32

    // Four big-endian words: a value without a heap allocation, compared and hashed in a few steps.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// The digest with exactly these bytes.
    ///
    /// - Shape: `nil` unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self = bytes.withUnsafeBytes { Digest(reading: $0) }
    }

    /// The digest written as 64 hexadecimal digits of either case.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex) else { return nil }
        self.init(bytes)
    }

    /// Reads the first 32 bytes of memory.
    init(reading memory: UnsafeRawBufferPointer) {
        precondition(memory.count >= Self.byteCount, "a digest is read from 32 bytes")
        func word(_ index: Int) -> UInt64 {
            UInt64(
                bigEndian: memory.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        words = (word(0), word(1), word(2), word(3))
    }

    /// The 32 bytes.
    public var bytes: [UInt8] {
        withUnsafeBytes { Array($0) }
    }

    /// The 32 bytes, borrowed.
    public func withUnsafeBytes<Result>(
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        let memory = (
            words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian
        )
        return try Swift.withUnsafeBytes(of: memory, body)
    }

    /// The first eight bytes as a number, most significant byte first.
    public var prefix: UInt64 { words.0 }

    /// Whether all 32 bytes are equal.
    public static func == (left: Digest, right: Digest) -> Bool {
        left.words == right.words
    }

    /// Half of the bytes are enough to spread.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.1)
    }
}

extension Digest: Comparable {
    /// The order of the bytes.
    public static func < (left: Digest, right: Digest) -> Bool {
        left.words < right.words
    }
}

extension Digest: CustomStringConvertible {
    /// The digest as 64 lower-case hexadecimal digits.
    public var description: String { Hex.encode(bytes) }
}
