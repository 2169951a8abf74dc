import Crypto

/// The growing edge of a hash tree over all entries.
///
/// - Source: RFC 9162 §2.1: leaves are hashed behind a 0 byte, nodes behind a 1 byte.
struct HashTree: Sendable, Equatable {
    /// Number of leaves.
    private(set) var size: Int64
    /// Roots of the complete subtrees, the largest first: one for each 1 bit of `size`.
    private(set) var frontier: [Digest]

    /// A tree without leaves.
    init() {
        size = 0
        frontier = []
    }

    /// The tree of so many leaves with a recorded frontier; `nil` when the two do not fit.
    init?(size: Int64, frontier bytes: [UInt8]) {
        guard bytes.count == size.nonzeroBitCount * Digest.byteCount else { return nil }
        self.size = size
        frontier = stride(from: 0, to: bytes.count, by: Digest.byteCount).compactMap {
            Digest(Array(bytes[$0..<$0 + Digest.byteCount]))
        }
    }

    /// Adds an entry's digest.
    mutating func append(_ digest: Digest) {
        var node = HashTree.hash(0, digest, nil)
        var rest = size
        while rest & 1 == 1 {
            node = HashTree.parent(frontier.removeLast(), node)
            rest >>= 1
        }
        frontier.append(node)
        size += 1
    }

    /// The root; the digest of nothing for an empty tree.
    var root: Digest {
        guard var node = frontier.last else { return SHA256.digest(of: [UInt8]()) }
        for left in frontier.dropLast().reversed() { node = HashTree.parent(left, node) }
        return node
    }

    /// The frontier as recorded.
    var frontierBytes: [UInt8] { frontier.flatMap(\.bytes) }

    private static func parent(_ left: Digest, _ right: Digest) -> Digest {
        hash(1, left, right)
    }

    private static func hash(_ mark: UInt8, _ first: Digest, _ second: Digest?) -> Digest {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(1 + 2 * Digest.byteCount)
        bytes.append(mark)
        first.withUnsafeBytes { bytes.append(contentsOf: $0) }
        second?.withUnsafeBytes { bytes.append(contentsOf: $0) }
        return SHA256.digest(of: bytes)
    }
}
