/// Which statements the server has prepared on one session, and under which names.
///
/// - Shape: the first `capacity` different texts; what comes later is parsed every time.
struct StatementCache {
    struct Key: Hashable {
        let sql: String
        let types: [UInt32]
    }

    enum Use {
        /// Send it whole.
        case whole
        /// Have it prepared under the name, then run it by the name.
        case prepare(name: String)
        /// Run it by the name.
        case byName(String)
    }

    private struct Entry {
        let name: String
        /// The sync before which it is being prepared; `nil` once it is.
        var preparing: Int?
    }

    static let capacity = 256

    private var entries: [Key: Entry] = [:]
    private var lastNumber = 0
    /// What its names begin with, unlike those of any other client: behind a pooler a name may meet
    /// another client's session, where it must mean nothing and not another statement.
    private let prefix = "s" + String(UInt64.random(in: .min ... .max), radix: 36)

    /// How to send a statement now, before the sync of this number.
    mutating func use(of key: Key, before sync: Int) -> Use {
        if let entry = entries[key] {
            // Until it is known that preparing succeeded only its own group may rely on it.
            return entry.preparing == nil || entry.preparing == sync ? .byName(entry.name) : .whole
        }
        guard entries.count < Self.capacity else { return .whole }
        lastNumber += 1
        let entry = Entry(name: "\(prefix)_\(lastNumber)", preparing: sync)
        entries[key] = entry
        return .prepare(name: entry.name)
    }

    /// The server has prepared it.
    mutating func confirm(_ key: Key) { entries[key]?.preparing = nil }

    /// The server has not, or the plan is stale; returns the name it had.
    @discardableResult
    mutating func forget(_ key: Key) -> String? { entries.removeValue(forKey: key)?.name }
}
