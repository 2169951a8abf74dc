import AppStore
import Domain
import Ledger

/// What a comparison with Apple found, by app and environment.
struct ReconcileReport: Sendable {
    /// The notifications of one day.
    struct Day: Sendable, Equatable {
        /// How many Apple has sent, or tried to.
        var sent = 0
        /// How many of them the record held.
        var held = 0
        /// How many it lacked, and has now.
        var missing = 0
        /// How many are kept and not believed.
        var quarantined = 0

        mutating func add(_ other: Day) {
            sent += other.sent
            held += other.held
            missing += other.missing
            quarantined += other.quarantined
        }
    }

    /// One thing that the record lacked, and has now.
    struct Missing: Sendable, Equatable {
        let bundle: String
        let environment: Environment
        /// `notification`, `overdue` or `successor_missing`.
        let what: String
        /// The UUID and the type of a notification.
        var notification: (uuid: String, type: String)?
        /// The line that it is about.
        var line: String?
        /// When Apple signed it.
        var signedAt: Instant?
        /// The last position of what was stored.
        var position: Position?

        static func == (left: Missing, right: Missing) -> Bool {
            left.bundle == right.bundle && left.environment == right.environment
                && left.what == right.what && left.line == right.line
                && left.notification?.uuid == right.notification?.uuid
                && left.position == right.position
        }
    }

    /// One app in one environment.
    struct Place: Sendable {
        let bundle: String
        let environment: Environment
        /// The span whose notifications were compared; `nil` when none were.
        var span: Range<Instant>?
        /// By the day of signing, as `2025-06-11`.
        var days: [String: Day] = [:]
        /// How many lines in doubt were asked about.
        var asked = 0
        /// How many of them Apple said something new about.
        var learnt = 0
        /// Lines of which it is still not known what happened, the first ones.
        private(set) var unknown: [String] = []
        /// How many those are.
        private(set) var unknownCount = 0
        /// Why it could not be asked to the end.
        var failure: DaemonError?
        /// Whether it accepts no token; normal in Production for an app without a release.
        var isUnauthorized = false

        /// How many notifications were missing.
        var missing: Int { days.values.reduce(0) { $0 + $1.missing } }

        init(bundle: String, environment: Environment) {
            self.bundle = bundle
            self.environment = environment
        }

        mutating func stillUnknown(_ line: String) {
            unknownCount += 1
            if unknown.count < ReconcileReport.limit { unknown.append(line) }
        }
    }

    /// The most that is listed.
    static let limit = 1_000

    private(set) var places: [Place] = []
    /// What was lacking, the first ones found.
    private(set) var missing: [Missing] = []
    /// How much was lacking.
    private(set) var missingCount = 0

    mutating func add(_ place: Place, missing found: [Missing], count: Int) {
        places.append(place)
        missing += found.prefix(ReconcileReport.limit - missing.count)
        missingCount += count
    }

    /// What keeps it from being a whole answer: failures, and apps whose key no place accepts.
    var failures: [(place: Place, error: DaemonError)] {
        var found: [(Place, DaemonError)] = []
        for place in places {
            if let failure = place.failure {
                found.append((place, failure))
            } else if place.isUnauthorized,
                places.allSatisfy({ $0.bundle != place.bundle || $0.isUnauthorized })
            {
                found.append((place, .store(.unauthorized)))
            }
        }
        return found
    }
}
