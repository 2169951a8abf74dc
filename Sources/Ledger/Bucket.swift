import Crypto
import Domain

/// The part of a sharded ledger that a stream lives in.
public enum Bucket {
    /// How many buckets there are, for ever.
    public static let count = 1024

    /// The bucket of a stream: the first bits of its name's SHA-256. Shape: 0 ..< `count`.
    public static func of(_ stream: StreamID) -> Int32 {
        Int32(truncatingIfNeeded: SHA256.digest(of: stream.name).prefix >> 54)
    }
}
