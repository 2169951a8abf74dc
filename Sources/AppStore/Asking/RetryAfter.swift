import Domain

/// The field by which a server says when it wants to be asked again.
///
/// - Source: Apple writes an instant in milliseconds since 1970, where RFC 9110 has seconds to
///   wait; both are read, and an instant in seconds too.
public enum RetryAfter {
    /// The instant that the field names; `nil` when it names none.
    public static func instant(_ field: String?, now: Instant) -> Instant? {
        guard let field, let number = Int64(field.trimmed), number >= 0 else { return nil }
        // No wait is as long as thirty years, and no instant in seconds is as great as 5000 AD.
        if number >= 100_000_000_000 { return Instant(milliseconds: number) }
        if number >= 1_000_000_000 { return Instant(milliseconds: number * 1_000) }
        return now.adding(milliseconds: number * 1_000)
    }
}

extension String {
    /// The text without spaces around it.
    fileprivate var trimmed: Substring {
        var rest = self[...]
        while rest.first == " " { rest.removeFirst() }
        while rest.last == " " { rest.removeLast() }
        return rest
    }
}
