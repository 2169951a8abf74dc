import Domain

/// An answer of verifyReceipt, or a version 1 notification, in whichever of its shapes.
///
/// - Source: Apple, verifyReceipt's `responseBody`, and `unified_receipt` of version 1.
struct StoreAnswer {
    let status: Int64
    let isRetryable: Bool?
    /// The environment that it names; `nil` when it names none.
    let environment: Environment?
    /// The app that it names.
    let bundle: String?
    /// When it was asked, by its own word.
    let askedAt: Instant?
    /// The type of the version 1 notification that it is, raw.
    let notice: String?
    let rows: [ReceiptRow]
    let renewals: [ReceiptRenewal]

    /// Reads an answer.
    ///
    /// - Throws: `Hold` when it is none.
    init(_ whole: JSON) throws(Hold) {
        let notification = try Reading(whole)
        let body = whole["unified_receipt"] ?? whole
        let answer = try Reading(body)
        let receipt = body["receipt"]
        let head = receipt?.members == nil ? nil : try Reading(receipt)
        guard let status = try answer.integer("status") else {
            throw Hold(.unparsable, "status is missing")
        }
        self.status = status
        isRetryable = try answer.truth("is_retryable")
        environment = try StoreAnswer.environment(notification, answer, head)
        let names = [
            try head?.text("bundle_id"), try head?.text("bid"), try notification.text("bid"),
        ]
        bundle = names.lazy.compactMap(\.self).first
        notice = try notification.text("notification_type")
        askedAt = try head?.receiptDate("request_date")
        let latest = ["latest_receipt_info", "latest_expired_receipt_info"]
            .flatMap { StoreAnswer.objects(body[$0]) }
        var partial = StoreAnswer.objects(receipt?["in_app"])
        // Receipts of old are one transaction, not a list of them.
        if let receipt, receipt["transaction_id"] != nil { partial.append(receipt) }
        rows = StoreAnswer.joined(partial: partial, full: latest)
        let pending = StoreAnswer.objects(body["pending_renewal_info"])
        renewals =
            (pending.isEmpty ? StoreAnswer.outer(whole, rows) : pending).map(ReceiptRenewal.init)
    }

    private static func environment(
        _ notification: Reading, _ answer: Reading, _ receipt: Reading?
    ) throws(Hold) -> Environment? {
        let names = [try answer.text("environment"), try notification.text("environment")]
        if let name = names.lazy.compactMap(\.self).first {
            return Environment(name == "PROD" ? "Production" : name)
        }
        guard let type = try receipt?.text("receipt_type") else { return nil }
        return Environment(type.hasSuffix("Sandbox") ? "Sandbox" : "Production")
    }

    /// The objects of a list, or the one that stands in its place.
    private static func objects(_ json: JSON?) -> [JSON] {
        guard let json else { return [] }
        return (json.elements ?? [json]).filter { $0.members != nil }
    }

    /// One row for each transaction, in order of its id: what is current lies over what is not.
    private static func joined(partial: [JSON], full: [JSON]) -> [ReceiptRow] {
        var rows: [String: (json: JSON, isPartial: Bool)] = [:]
        for (list, isPartial) in [(partial, true), (full, false)] {
            // Which of two equal ones comes first means nothing, so their text decides.
            for json in list.sorted(by: { $0.canonicalText < $1.canonicalText }) {
                let id = json["transaction_id"]?.identifier ?? ""
                rows[id] = (rows[id]?.json.overlaid(by: json) ?? json, isPartial)
            }
        }
        return rows.sorted { ($0.key.utf8.count, $0.key) < ($1.key.utf8.count, $1.key) }
            .map { ReceiptRow(json: $0.value.json, isPartial: $0.value.isPartial) }
    }

    /// What answers of old, and version 1 notifications, say of the renewal beside their rows.
    private static func outer(_ whole: JSON, _ rows: [ReceiptRow]) -> [JSON] {
        guard whole["auto_renew_status"] != nil || whole["expiration_intent"] != nil else {
            return []
        }
        let lines = Set(rows.compactMap { $0.json["original_transaction_id"] })
        guard let line = whole["original_transaction_id"] ?? (lines.count == 1 ? lines.first : nil)
        else { return [] }
        let names = [
            "auto_renew_product_id", "auto_renew_status", "expiration_intent",
            "is_in_billing_retry_period", "grace_period_expires_date_ms",
        ]
        return [
            .object(
                names.compactMap { name in whole[name].map { JSON.Member(name, $0) } }
                    + [.init("original_transaction_id", line)])
        ]
    }
}

extension JSON {
    fileprivate var canonicalText: String { String(decoding: canonicalBytes(), as: UTF8.self) }

    /// The text of an identifier, which may be written as a number.
    fileprivate var identifier: String {
        switch self {
        case .string(let text): text
        default: canonicalText
        }
    }

    /// This object with the members of another laid over it.
    fileprivate func overlaid(by other: JSON) -> JSON {
        let over = other.members ?? []
        let under = (members ?? []).filter { member in
            !over.contains { $0.name == member.name && $0.value != .null }
        }
        return .object(under + over.filter { $0.value != .null })
    }
}
