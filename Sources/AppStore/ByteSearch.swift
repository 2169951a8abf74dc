import Glibc

extension ArraySlice<UInt8> {
    /// Where a byte comes first, found at the speed of memory.
    func index(of byte: UInt8) -> Int? {
        withUnsafeBytes { memory in
            guard let base = memory.baseAddress,
                let found = memchr(base, Int32(byte), memory.count)
            else { return nil }
            return startIndex + (UnsafeRawPointer(found) - base)
        }
    }

    /// Whether the bytes are the same, found at the speed of memory.
    func isSame(as other: ArraySlice<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else {
                    return true
                }
                return memcmp(left, right, count) == 0
            }
        }
    }
}
