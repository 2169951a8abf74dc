/// What was signed about a line beside its transactions, in order of signing, so that each period
/// finds its own part without a walk through all of it.
struct Heard {
    private let infos: [RenewalStatement]
    private let notices: [Notice]
    /// Ends that extensions of a named transaction gave.
    private let extendedEnds: [String: Instant]
    private let hasExtensions: Bool
    /// Extensions that name no transaction.
    private let extensions: [Notice]

    init(_ subscription: Subscription) {
        infos = subscription.renewals.inOrder.map(\.content)
        notices = subscription.notices.values.sorted {
            ($0.signedAt, $0.uuid) < ($1.signedAt, $1.uuid)
        }
        var ends: [String: Instant] = [:]
        var extensions: [Notice] = []
        for notice in notices where notice.type == "RENEWAL_EXTENDED" {
            guard let renewsAt = notice.renewsAt else { continue }
            if let transaction = notice.transaction {
                ends[transaction] = max(ends[transaction] ?? renewsAt, renewsAt)
            } else {
                extensions.append(notice)
            }
        }
        extendedEnds = ends
        hasExtensions = notices.contains { $0.type == "RENEWAL_EXTENDED" }
        self.extensions = extensions
    }

    /// The renewal infos signed in a span.
    func infos(in span: Range<Instant>) -> ArraySlice<RenewalStatement> {
        Heard.part(of: infos, in: span, by: \.signedAt)
    }

    /// The notices signed in a span.
    func notices(in span: Range<Instant>) -> ArraySlice<Notice> {
        Heard.part(of: notices, in: span, by: \.signedAt)
    }

    /// The latest end that extensions gave a period: those that name one of its transactions, and
    /// those that name none and were signed within its span.
    func extendedEnd(of aliases: [String], in span: Range<Instant>) -> Instant? {
        let named = aliases.compactMap { extendedEnds[$0] }
        let unnamed = Heard.part(of: extensions, in: span, by: \.signedAt).compactMap(\.renewsAt)
        return (named + unnamed).max()
    }

    /// The extensions that `extendedEnd` looks at, with the ends that they name.
    func extensions(of aliases: [String], in span: Range<Instant>) -> [(at: Instant, end: Instant?)]
    {
        guard hasExtensions else { return [] }
        return notices.filter { notice in
            guard notice.type == "RENEWAL_EXTENDED" else { return false }
            guard let transaction = notice.transaction else {
                return span.contains(notice.signedAt)
            }
            return aliases.contains(transaction)
        }.map { (at: $0.signedAt, end: $0.renewsAt) }
    }

    private static func part<Element>(
        of elements: [Element], in span: Range<Instant>, by signedAt: (Element) -> Instant
    ) -> ArraySlice<Element> {
        let first = elements.firstPlace { signedAt($0) >= span.lowerBound }
        let end = elements.firstPlace { signedAt($0) >= span.upperBound }
        return elements[first..<max(first, end)]
    }
}
