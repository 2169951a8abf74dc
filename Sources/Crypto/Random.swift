import COpenSSL

/// Bytes nobody can guess.
public func randomBytes(_ count: Int) -> [UInt8] {
    precondition(
        count >= 0 && count <= Int(Int32.max), "that many random bytes cannot be asked for")
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        // Going on with bytes that are not random would be worse than stopping.
        precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "no randomness")
        initialized = count
    }
}

/// A positive number nobody can guess.
///
/// - Shape: from 1 to `Int64.max`.
public func randomInt64() -> Int64 {
    while true {
        let number = randomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        if number > 0 { return Int64(number) }
    }
}
