/// A place in the whole ledger, from 1; 0 is before the first entry.
public struct Position: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number of entries up to and including this place.
    public let number: Int64

    /// The place of this number.
    public init(_ number: Int64) { self.number = number }

    /// Before every entry.
    public static let start = Position(0)

    /// Whether the left place comes first.
    public static func < (left: Position, right: Position) -> Bool { left.number < right.number }

    /// The number as text.
    public var description: String { String(number) }
}

/// The random number that stands on the record for a customer or an account token.
public struct CustomerNumber: Sendable, Hashable, Comparable {
    /// Positive, random, never reused.
    public let number: Int64

    /// The customer of this number.
    public init(_ number: Int64) { self.number = number }

    /// An order without meaning, for stable answers.
    public static func < (left: CustomerNumber, right: CustomerNumber) -> Bool {
        left.number < right.number
    }
}

/// One of the App Store's worlds, which never mix.
///
/// - Shape: an open set; the raw spelling is Apple's.
/// - Source: Apple, `environment`.
public struct Environment: Sendable, Hashable {
    /// Apple's spelling.
    public let name: String

    /// The environment of this spelling.
    public init(_ name: String) { self.name = name }

    /// Real purchases with real money.
    public static let production = Environment("Production")
    /// Purchases of test accounts, TestFlight and App Review: no money, ever.
    public static let sandbox = Environment("Sandbox")
}

/// The name of one line's, customer's, token's or setting's entries.
///
/// - Shape: derivable from the incoming evidence alone, so a duplicate lands in the same stream.
public struct StreamID: Sendable, Hashable, Comparable {
    /// The text as recorded.
    public let name: String

    /// The stream of this recorded name.
    public init(name: String) { self.name = name }

    /// The stream of a line: one chain of purchases.
    public static func line(_ environment: Environment, _ original: String) -> StreamID {
        StreamID(name: "apple/\(environment.name)/\(original)")
    }

    /// The stream of what belongs to no line of an app: tests and summaries.
    public static func notices(_ environment: Environment, bundle: String) -> StreamID {
        StreamID(name: "apple/\(environment.name)/\(bundle)/notices")
    }

    /// The stream of one account token: whose it is.
    public static func token(_ token: CustomerNumber) -> StreamID {
        StreamID(name: "token/\(token.number)")
    }

    /// The stream of one customer: grants, merges, erasure.
    public static func customer(_ customer: CustomerNumber) -> StreamID {
        StreamID(name: "customer/\(customer.number)")
    }

    /// The stream of the settings that decide answers.
    public static let settings = StreamID(name: "settings")

    /// Environment and original transaction id, when this is a line's stream.
    public var line: (environment: Environment, original: String)? {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "apple" else { return nil }
        return (Environment(String(parts[1])), String(parts[2]))
    }

    /// The customer, when this is a customer's stream.
    public var customer: CustomerNumber? {
        guard name.hasPrefix("customer/") else { return nil }
        return Int64(name.dropFirst("customer/".count)).map(CustomerNumber.init)
    }

    /// An order without meaning, for stable answers.
    public static func < (left: StreamID, right: StreamID) -> Bool { left.name < right.name }
}

/// Thirty-two bytes that stand for a longer text: its SHA-256.
public struct Fingerprint: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Sixty-four lower-case hex digits.
    public let hex: String

    /// The fingerprint written as lower-case hex.
    public init(hex: String) { self.hex = hex }

    /// The order of the bytes.
    public static func < (left: Fingerprint, right: Fingerprint) -> Bool { left.hex < right.hex }

    /// The hex digits.
    public var description: String { hex }
}
