import Crypto
public import Domain

/// The newest batch: the end of the ledger.
public struct Head: Sendable {
    /// The batch's number; 0 for an empty ledger.
    public let number: Int64
    /// The last position.
    public let position: Position
    /// When it was recorded; the distant past for an empty ledger.
    public let recordedAt: Instant
    /// The digest of the chain up to it, hex.
    public let digest: Fingerprint
    let tree: HashTree

    /// The root of the hash tree over all entries, hex.
    public var root: Fingerprint { Fingerprint(hex: tree.root.description) }

    /// The head of a ledger without entries.
    public static let empty = Head(
        number: 0, position: .start, recordedAt: Instant(milliseconds: 0),
        digest: Fingerprint(hex: Hex.encode([UInt8](repeating: 0, count: Digest.byteCount))),
        tree: HashTree())

    /// The head after a batch of entries recorded at an instant.
    func followed(by rows: [EntryRow], recordedAt: Instant) -> Head {
        var tree = tree
        var bytes = DigestInput("subledger.batch.1")
        let last = position.number + Int64(rows.count)
        bytes.add(bytes: Hex.decode(digest.hex) ?? [])
        for number in [number + 1, position.number + 1, last, recordedAt.milliseconds] {
            bytes.add(number)
        }
        for row in rows {
            tree.append(row.digest)
            bytes.add(bytes: row.digest.bytes)
        }
        bytes.add(bytes: tree.root.bytes)
        return Head(
            number: number + 1, position: Position(last), recordedAt: recordedAt,
            digest: Fingerprint(hex: bytes.digest.description), tree: tree)
    }
}

/// Bytes to be digested: every part is preceded by its length, so no two texts give the same.
struct DigestInput {
    private var bytes: [UInt8]

    init(_ purpose: String) {
        bytes = []
        bytes.reserveCapacity(1024)
        add(text: purpose)
    }

    mutating func add(_ number: Int64) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func add(text: String) {
        add(Int64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func add(bytes more: [UInt8]) {
        add(Int64(more.count))
        bytes.append(contentsOf: more)
    }

    mutating func add(ifAny number: Int64?) {
        bytes.append(number == nil ? 0 : 1)
        if let number { add(number) }
    }

    mutating func add(ifAny text: String?) {
        bytes.append(text == nil ? 0 : 1)
        if let text { add(text: text) }
    }

    var digest: Digest { SHA256.digest(of: bytes) }
}
