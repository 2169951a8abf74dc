import Domain

/// The columns of entries.
enum EntryColumns {
    static let all: [ExportColumn<Entry>] = [
        .integer("position") { $0.position.number },
        .text("kind") { $0.event.kind.name },
        .text("stream") { $0.event.stream.name },
        .integer("revision") { $0.revision },
        .text("environment") { $0.event.environment?.name },
        .integer("customer") { $0.event.subject?.number },
        .instant("occurred_at") { $0.event.occurredAt },
        .instant("signed_at") { $0.event.signedAt },
        .instant("observed_at") { $0.event.observedAt },
        .instant("recorded_at") { $0.recordedAt },
        .text("source") { $0.event.source.rawValue },
        .text("evidence") { $0.event.evidence?.hex },
        .text("body") {
            String(decoding: $0.event.content.body.canonicalBytes(), as: UTF8.self)
        },
    ]
}

/// A period of a line.
struct PeriodRow: Sendable {
    let line: MeasuredLine
    let index: Int

    var period: Period { line.period(index) }
    var plan: String? {
        period.shape == .subscription ? Plan(of: period, line.settings).name : nil
    }
}

/// The columns of periods.
enum PeriodColumns {
    static let all: [ExportColumn<PeriodRow>] = [
        .text("environment") { $0.line.line.environment.name },
        .text("original_transaction_id") { $0.line.line.original },
        .text("transaction_id") { $0.period.transaction },
        .text("web_order_line_item_id") { $0.period.webOrderLineItem },
        .text("bundle_id") { $0.period.bundle },
        .text("product_id") { $0.period.product },
        .text("product_group") { $0.period.group },
        .text("plan") { $0.plan },
        .text("class") { $0.period.periodClass.rawValue },
        .text("shape") { $0.period.shape.rawValue },
        .instant("purchased_at") { $0.period.purchasedAt },
        .instant("starts_at") { $0.period.from },
        .instant("expires_at") { $0.period.expiresAt },
        .instant("ends_at") { $0.period.until },
        .text("ending") { $0.period.ending.rawValue },
        .integer("price_milliunits") { $0.period.priceMilliunits },
        .text("currency") { $0.period.currency },
        .instant("revoked_at") { $0.period.revokedAt },
        .instant("refunded_at") { $0.period.refund?.at },
        .integer("refund_milliunits") { $0.period.refund?.priceMilliunits },
        .truth("is_upgraded") { $0.period.isUpgraded },
        .text("ownership") { $0.period.ownership },
        .text("storefront") { $0.period.storefront },
        .text("offer") { $0.period.offer },
        .text("flags") { $0.period.flags.isEmpty ? nil : $0.period.flags.joined(separator: " ") },
        .integer("line_position") { $0.line.line.position.number },
    ]
}

/// Money that moved for a period.
struct MovementRow: Sendable {
    let row: PeriodRow
    let movement: Movement

    /// Signed: what went back is below zero.
    var amount: Int64 {
        let sum = ExactSum(movement.amount, times: movement.share).rounded
        return movement.kind == .refund ? -sum : sum
    }
}

/// The columns of movements.
enum MovementColumns {
    static let all: [ExportColumn<MovementRow>] = [
        .text("environment") { $0.row.line.line.environment.name },
        .text("original_transaction_id") { $0.row.line.line.original },
        .text("transaction_id") { $0.row.period.transaction },
        .text("bundle_id") { $0.row.period.bundle },
        .text("product_id") { $0.row.period.product },
        .text("plan") { $0.row.plan },
        .text("class") { $0.row.period.periodClass.rawValue },
        .text("kind") { $0.movement.kind.rawValue },
        .instant("moved_at") { $0.movement.at },
        .instant("paid_at") { $0.movement.paidAt },
        .integer("amount_milliunits") { $0.amount },
        .text("currency") { $0.movement.currency },
        .text("storefront") { $0.row.period.storefront },
    ]
}
