/// An array of one dimension in PostgreSQL's binary format; the caller knows the element type.
///
/// - Source: PostgreSQL, `array_send`.
struct BinaryArray {
    private let count: Int
    private let elements: UnsafeRawBufferPointer

    /// `nil` when the bytes are no such array.
    init?(_ raw: UnsafeRawBufferPointer) {
        guard raw.count >= 12 else { return nil }
        let dimensions = Self.integer(raw, at: 0)
        guard dimensions != 0 else {
            count = 0
            elements = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        guard dimensions == 1, raw.count >= 20 else { return nil }
        count = Int(Self.integer(raw, at: 12))
        elements = UnsafeRawBufferPointer(rebasing: raw[20...])
    }

    /// The elements, `nil` for NULL; `nil` for all when the bytes end too early.
    func map<T>(_ transform: (UnsafeRawBufferPointer) -> T) -> [T?]? {
        var values: [T?] = []
        values.reserveCapacity(count)
        var offset = 0
        for _ in 0..<count {
            guard offset + 4 <= elements.count else { return nil }
            let length = Int(Self.integer(elements, at: offset))
            offset += 4
            guard length >= 0 else {
                values.append(nil)
                continue
            }
            guard offset + length <= elements.count else { return nil }
            values.append(
                transform(UnsafeRawBufferPointer(rebasing: elements[offset..<offset + length])))
            offset += length
        }
        return values
    }

    private static func integer(_ raw: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
        Int32(bigEndian: raw.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    }
}
