public import Domain

/// An instant at which time alone ends a line's access, or its grace.
public struct LineEnd: Sendable, Hashable {
    /// `expired` or `graceEnded`.
    public var kind: Kind
    /// The first instant without access.
    public var instant: Instant

    /// An end of this kind.
    public init(_ kind: Kind, _ instant: Instant) {
        self.kind = kind
        self.instant = instant
    }
}

extension Kind {
    /// Time alone ended what was paid for.
    public static let expired = Kind("expired")
    /// Time alone ended the grace after it.
    public static let graceEnded = Kind("graceEnded")
}

extension Line {
    /// Every end of unbroken access that comes by time alone, in order.
    ///
    /// Access that a revocation ends is not among them: the entry that says so tells it.
    public func ends(_ settings: Settings) -> [LineEnd] {
        var ends: [LineEnd] = []
        var last: Span?
        func close() {
            guard let span = last, span.until != .distantFuture else { return }
            let period = periods[span.period]
            if span.state == .grace {
                ends.append(LineEnd(.graceEnded, span.until))
            } else if period.ending != .revocation || period.until != span.until {
                ends.append(LineEnd(.expired, span.until))
            }
        }
        for span in spans(settings).sorted(by: { $0.from < $1.from }) {
            if let open = last, span.from <= open.until {
                if span.until > open.until { last = span }
            } else {
                close()
                last = span
            }
        }
        close()
        return ends
    }
}
