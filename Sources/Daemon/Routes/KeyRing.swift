import Crypto
import Domain
import HTTP
import Operation
import Postgres
import Synchronization

/// The API keys that hold, remembered for a few seconds.
final class KeyRing: Sendable {
    private struct Memory {
        var keys: [String: APIKey] = [:]
        var readAt: ContinuousClock.Instant?
        /// Readings that unknown keys caused in the second that began at `countedFrom`.
        var readings = 0
        var countedFrom = ContinuousClock.now

        /// Whether an unknown key may cause a reading now.
        mutating func mayRead() -> Bool {
            if countedFrom.duration(to: .now) > .seconds(1) {
                countedFrom = .now
                readings = 0
            }
            readings += 1
            return readings <= KeyRing.readingsPerSecond
        }
    }

    private let keys: APIKeys
    private let bootstrapDigest: String?
    private let memory = Mutex(Memory())

    /// How old what is remembered may be; a key that was ended is refused after that long.
    private static let freshness = Duration.seconds(3)
    /// How many readings unknown keys may cause in a second; beyond that they are refused unread.
    private static let readingsPerSecond = 50

    /// The keys of a database, and the bootstrap key with every role.
    init(_ keys: APIKeys, bootstrap: Concealed?) {
        self.keys = keys
        bootstrapDigest = bootstrap.map { APIKeys.digest(of: $0.revealed) }
    }

    /// The roles of the key that a request carries.
    func roles(_ request: Request) async throws(Problem) -> Set<Role> {
        guard let header = request.header("authorization"), header.utf8.count <= 512,
            header.lowercased().hasPrefix("bearer ")
        else { throw .unauthorized }
        let secret = header.dropFirst(7).trimmingSpaces()
        let digest = APIKeys.digest(of: secret)
        if digest == bootstrapDigest { return Set(Role.allCases) }
        let (known, age) = memory.withLock { memory in
            (memory.keys[digest], memory.readAt?.duration(to: .now))
        }
        if let known, let age, age < KeyRing.freshness { return known.roles }
        if known == nil, !memory.withLock({ $0.mayRead() }) { throw .unauthorized }
        let valid: [String: APIKey]
        do throws(PostgresError) {
            valid = try await keys.valid()
        } catch {
            throw .unavailable("SL049", "API keys cannot be read now")
        }
        memory.withLock { memory in
            memory.keys = valid
            memory.readAt = .now
        }
        guard let key = valid[digest] else { throw .unauthorized }
        return key.roles
    }
}

extension Substring {
    /// Without spaces at both ends.
    func trimmingSpaces() -> String {
        var rest = self
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
