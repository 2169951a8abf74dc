import Crypto
public import Domain

extension Interpreter {
    /// What a receipt itself says, proved by its signature.
    ///
    /// It tells what was true when it was made, which takes the place of a signing; it says nothing
    /// of renewal, and takes no revocation back.
    public func receipt(_ base64: String, of bundle: String, receivedAt: Instant)
        throws(AnswerRefusal) -> ReceiptReading
    {
        guard let text = ReceiptClient.normalized(base64) else {
            throw .malformed("the receipt is no base64")
        }
        let receipt: AppReceipt
        do throws(ReceiptRefusal) {
            receipt = try AppReceipt.read(base64: text, roots: verifier.extraRoots)
        } catch {
            switch error {
            case .malformed(let detail): throw .malformed(detail)
            case .forged(let forgery, let detail): throw .forged(forgery, detail: detail)
            case .unparsable(let detail): throw .held(.unparsable, detail: detail)
            }
        }
        return try reading(
            rows: receipt.rows.map { ReceiptRow(json: $0.json, isPartial: true) }, renewals: [],
            status: 0, text: Array(text.utf8), receivedAt: receivedAt, source: .receipt
        ) { () throws(Hold) in
            guard receipt.bundle == bundle else {
                throw Hold(.wrongApp, "the receipt is of \(receipt.bundle)")
            }
            let environment = try apps.environment(
                [receipt.environment], of: try apps.app(bundle))
            try Draft<TransactionStatement>.judgeSigning(
                receipt.createdAt, receivedAt: receivedAt)
            return Asked(bundle: bundle, environment: environment, at: receipt.createdAt)
        }
    }
}

extension AppReceipt.Row {
    /// The row as verifyReceipt writes it.
    fileprivate var json: JSON {
        JSON(members: [
            "quantity": .whole(quantity),
            "product_id": .string(product),
            "transaction_id": .string(transaction),
            "original_transaction_id": .text(original),
            "purchase_date_ms": .instant(purchasedAt),
            "original_purchase_date_ms": .instant(originallyPurchasedAt),
            "expires_date_ms": .instant(expiresAt),
            "web_order_line_item_id": .text(webOrderLineItem),
            "cancellation_date_ms": .instant(cancelledAt),
            "is_trial_period": .truth(isTrial),
            "is_in_intro_offer_period": .truth(isInIntroOffer),
        ])
    }
}
