/// The renewal infos signed from a period's purchase up to the next one's: they judge its grace
/// and its billing retry (R5, R6).
struct Episode {
    /// Grace after the paid time; `nil` when there is none.
    let grace: Grace?
    /// When Apple was still trying to collect.
    let retries: [Range<Instant>]

    private static let retryDays: Int64 = 60
    private static let commitmentRetryDays: Int64 = 90

    init(
        _ heard: Heard, from: Instant, until: Instant?, expiresAt: Instant, isCommitment: Bool
    ) {
        let span = from..<max(until ?? .distantFuture, from)
        let infos = heard.infos(in: span)
        grace = Episode.grace(
            infos: infos, notices: heard.notices(in: span), expiresAt: expiresAt,
            isCommitment: isCommitment)
        let days = isCommitment ? Episode.commitmentRetryDays : Episode.retryDays
        let end = min(expiresAt.adding(days: days), until ?? .distantFuture)
        retries = Episode.retries(infos: infos, from: expiresAt, until: end)
    }

    private static func grace(
        infos: ArraySlice<RenewalStatement>, notices: ArraySlice<Notice>, expiresAt: Instant,
        isCommitment: Bool
    ) -> Grace? {
        let ended = notices.filter { $0.type == "GRACE_PERIOD_EXPIRED" }.map(\.signedAt)
        let named = infos.last { ($0.graceExpiresAt ?? .distantPast) > expiresAt }
        if let named, let graceExpiresAt = named.graceExpiresAt {
            let ends =
                infos.filter { $0.signedAt > named.signedAt }.map(\.signedAt)
                + ended.filter { $0 >= named.signedAt }
            return .named(until: max(min(graceExpiresAt, ends.min() ?? graceExpiresAt), expiresAt))
        }
        guard !isCommitment, let notice = notices.last(where: { $0.announcesGrace }) else {
            return nil
        }
        // The info that came with the notice names no date either; only a later one ends grace.
        let said = max(notice.signedAt, notice.renewalSignedAt ?? notice.signedAt)
        let ends = infos.map(\.signedAt).filter { $0 > said } + ended.filter { $0 >= said }
        return .inferred(cap: ends.min())
    }

    private static func retries(
        infos: ArraySlice<RenewalStatement>, from expiresAt: Instant, until end: Instant
    ) -> [Range<Instant>] {
        guard expiresAt < end else { return [] }
        let before = infos.last { $0.signedAt < expiresAt }
        let after = infos.filter { $0.signedAt >= expiresAt }
        // Until the first word after the end, that word counts too: it comes minutes late.
        var isTrying = before?.isTryingToCollect == true || after.first?.isTryingToCollect == true
        var start = expiresAt
        var ranges: [Range<Instant>] = []
        func close(at instant: Instant) {
            let instant = min(instant, end)
            guard isTrying, start < instant else { return }
            if let last = ranges.last, last.upperBound == start {
                ranges[ranges.count - 1] = last.lowerBound..<instant
            } else {
                ranges.append(start..<instant)
            }
        }
        for info in after {
            close(at: info.signedAt)
            start = info.signedAt
            isTrying = info.isTryingToCollect
        }
        close(at: end)
        return ranges
    }
}

extension RenewalStatement {
    /// In billing retry, unless it says that the customer left.
    fileprivate var isTryingToCollect: Bool {
        isInBillingRetry == true && expirationIntent != 1 && expirationIntent != 3
    }
}

extension Notice {
    /// Whether it says that grace has begun.
    fileprivate var announcesGrace: Bool {
        status == 4 || (type == "DID_FAIL_TO_RENEW" && subtype == "GRACE_PERIOD")
    }
}
