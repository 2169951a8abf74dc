import Domain
import Foundation

/// What verifyReceipt says of a customer.
///
/// - Source: Apple, `responseBody` of verifyReceipt: every value within a row is a text.
struct ReceiptAnswer {
    let world: World
    let person: Int

    private var environment: Environment { world.people[person].environment }

    func rendered(onlyNewest: Bool) -> JSON {
        let chains = world.people[person].chains
        let transactions = chains.flatMap { world.chains[$0].transactions }
            .map { world.transactions[$0] }
            .filter { $0.purchasedAt <= world.now }
        let subscriptions = chains.filter { world.chains[$0].group != nil }
        var latest = transactions.filter { $0.product.kind != .consumable }
            .sorted { $0.purchasedAt > $1.purchasedAt }
        if onlyNewest {
            var seen: Set<Int> = []
            latest = latest.filter {
                $0.product.kind != .autoRenewable || seen.insert($0.chain).inserted
            }
        }
        let receipt = ReceiptText(environment: environment, customer: world.people[person].id)
        return JSON(members: [
            "status": .integer(0), "environment": .string(environment.name),
            "receipt": outline(transactions),
            "latest_receipt_info": subscriptions.isEmpty
                ? nil : .array(latest.map { row($0, isLatest: true) }),
            "latest_receipt": subscriptions.isEmpty ? nil : .string(receipt.text),
            "pending_renewal_info": subscriptions.isEmpty
                ? nil : .array(subscriptions.map { pending($0) }),
        ])
    }

    private func outline(_ transactions: [Transaction]) -> JSON {
        let isProduction = environment == .production
        let number = isProduction ? world.app.appAppleId : 0
        var members: [JSON.Member] = [
            JSON.Member("receipt_type", .string(isProduction ? "Production" : "ProductionSandbox")),
            JSON.Member("adam_id", .integer(number)),
            JSON.Member("app_item_id", .integer(number)),
            JSON.Member("bundle_id", .string(world.app.bundleId)),
            JSON.Member("application_version", .string("1")),
            JSON.Member("download_id", .integer(isProduction ? 500_000_000_001 : 0)),
            JSON.Member("version_external_identifier", .integer(isProduction ? 1 : 0)),
            JSON.Member("original_application_version", .string("1.0")),
        ]
        let first = transactions.map(\.purchasedAt).min() ?? world.now
        members += dates("receipt_creation_date", world.now)
        members += dates("request_date", world.now)
        members += dates(
            "original_purchase_date",
            isProduction ? first : Instant(milliseconds: 1_375_340_400_000))
        members.append(
            JSON.Member("in_app", .array(transactions.map { row($0, isLatest: false) })))
        return .object(members)
    }

    private func row(_ transaction: Transaction, isLatest: Bool) -> JSON {
        let isTrial = transaction.offer?.discount == "FREE_TRIAL"
        var members = [
            JSON.Member("quantity", .string(String(transaction.quantity))),
            JSON.Member("product_id", .string(transaction.product.id)),
            JSON.Member("transaction_id", .string(transaction.id)),
            JSON.Member("original_transaction_id", .string(world.chains[transaction.chain].id)),
        ]
        members += dates("purchase_date", transaction.purchasedAt)
        members += dates("original_purchase_date", transaction.originallyPurchasedAt)
        if let end = transaction.expiresAt { members += dates("expires_date", end) }
        if let item = transaction.webOrderLineItem {
            members.append(JSON.Member("web_order_line_item_id", .string(item)))
        }
        members.append(JSON.Member("is_trial_period", .string(isTrial ? "true" : "false")))
        members.append(
            JSON.Member(
                "is_in_intro_offer_period",
                .string(transaction.offer?.type == 1 && !isTrial ? "true" : "false")))
        if let revocation = transaction.revocation {
            members += dates("cancellation_date", revocation.at)
            members.append(
                JSON.Member("cancellation_reason", .string(String(revocation.reason))))
        }
        members.append(JSON.Member("in_app_ownership_type", .string(transaction.ownership)))
        guard isLatest else { return .object(members) }
        if transaction.isUpgraded { members.append(JSON.Member("is_upgraded", .string("true"))) }
        if let group = transaction.product.group {
            members.append(JSON.Member("subscription_group_identifier", .string(group)))
        }
        if let token = transaction.token {
            members.append(JSON.Member("app_account_token", .string(token)))
        }
        return .object(members)
    }

    private func pending(_ place: Int) -> JSON {
        let chain = world.chains[place]
        var members = [
            JSON.Member("auto_renew_product_id", .string(chain.nextProduct)),
            JSON.Member("product_id", .string(world.product(place).id)),
            JSON.Member("original_transaction_id", .string(chain.id)),
            JSON.Member("auto_renew_status", .string(chain.autoRenews ? "1" : "0")),
        ]
        if let intent = chain.expirationIntent {
            members.append(JSON.Member("expiration_intent", .string(String(intent))))
        }
        if let isInRetry = chain.isInRetry {
            members.append(
                JSON.Member("is_in_billing_retry_period", .string(isInRetry ? "1" : "0")))
        }
        if let grace = chain.graceUntil { members += dates("grace_period_expires_date", grace) }
        if let increase = chain.priceIncrease {
            let status = increase.hasConsent ? "1" : "0"
            if increase.needsConsent {
                members.append(JSON.Member("price_consent_status", .string(status)))
            }
            members.append(JSON.Member("price_increase_status", .string(status)))
        }
        return .object(members)
    }

    /// A date in its three forms.
    private func dates(_ name: String, _ instant: Instant) -> [JSON.Member] {
        [
            JSON.Member(name, .string(Self.text(instant) + " Etc/GMT")),
            JSON.Member(name + "_ms", .string(String(instant.milliseconds))),
            JSON.Member(
                name + "_pst", .string(Self.text(Self.pacific(instant)) + " America/Los_Angeles")),
        ]
    }

    private static func text(_ instant: Instant) -> String {
        String(instant.description.prefix(10) + " " + instant.description.dropFirst(11).prefix(8))
    }

    private static func pacific(_ instant: Instant) -> Instant {
        let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1_000)
        let zone = TimeZone(identifier: "America/Los_Angeles")
        let offset = zone?.secondsFromGMT(for: date) ?? -8 * 3_600
        return instant.adding(milliseconds: Int64(offset) * 1_000)
    }
}
