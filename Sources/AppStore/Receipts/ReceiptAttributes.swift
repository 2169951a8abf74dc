import Crypto
import Domain

extension AppReceipt {
    /// What signed content says: a set of numbered attributes.
    init(content: [UInt8]) throws(ReceiptRefusal) {
        let attributes = try ReceiptAttributes(content[...], named: "the receipt")
        guard let bundle = try attributes.text(2) else {
            throw .unparsable("the receipt names no bundle id")
        }
        guard let createdAt = try attributes.instant(12) else {
            throw .unparsable("the receipt does not say when it was made")
        }
        var rows: [Row] = []
        for value in attributes.all(17) {
            rows.append(try Row(value))
        }
        self.init(
            receiptType: try attributes.text(0), bundle: bundle,
            appAppleId: try attributes.identifier(1), version: try attributes.text(3),
            originalVersion: try attributes.text(19), createdAt: createdAt,
            originallyPurchasedAt: try attributes.instant(18),
            expiresAt: try attributes.instant(21), rows: rows)
    }
}

extension AppReceipt.Row {
    fileprivate init(_ value: [UInt8]) throws(ReceiptRefusal) {
        let attributes = try ReceiptAttributes(value[...], named: "a purchase")
        guard let product = try attributes.text(1702) else {
            throw .unparsable("a purchase names no product")
        }
        guard let transaction = try attributes.text(1703) else {
            throw .unparsable("a purchase has no transaction id")
        }
        self.init(
            quantity: try attributes.number(1701), product: product, transaction: transaction,
            original: try attributes.text(1705), purchasedAt: try attributes.instant(1704),
            originallyPurchasedAt: try attributes.instant(1706),
            productType: try attributes.number(1707), expiresAt: try attributes.instant(1708),
            webOrderLineItem: try attributes.identifier(1711).map(String.init),
            cancelledAt: try attributes.instant(1712), isTrial: try attributes.flag(1713),
            isInIntroOffer: try attributes.flag(1719))
    }
}

/// A set of attributes, each with a number, a version and a value that is an element again.
///
/// Attributes that nobody asks for may hold anything.
private struct ReceiptAttributes {
    private let name: String
    private let values: [Int64: [[UInt8]]]

    init(_ bytes: ArraySlice<UInt8>, named name: String) throws(ReceiptRefusal) {
        self.name = name
        guard let set = BERElement.only(in: bytes), set.tag == BERElement.Tag.set,
            let attributes = set.elements
        else { throw .unparsable("\(name) is no set of attributes") }
        var values: [Int64: [[UInt8]]] = [:]
        for attribute in attributes {
            guard attribute.tag == BERElement.Tag.sequence, let parts = attribute.elements,
                parts.count == 3, let type = parts[0].integer, parts[1].integer != nil,
                let value = parts[2].octets
            else { throw .unparsable("\(name) has an attribute that is not type, version, value") }
            values[type, default: []].append(value)
        }
        self.values = values
    }

    /// The values of every attribute with this number.
    func all(_ type: Int64) -> [[UInt8]] { values[type] ?? [] }

    /// - Shape: `nil` when missing or empty.
    func text(_ type: Int64) throws(ReceiptRefusal) -> String? {
        guard let element = try element(type) else { return nil }
        guard let text = element.text else { throw unreadable(type, "text") }
        return text.isEmpty ? nil : text
    }

    /// - Shape: `nil` when missing or empty.
    func instant(_ type: Int64) throws(ReceiptRefusal) -> Instant? {
        guard let text = try text(type) else { return nil }
        guard let instant = Instant(text) else { throw unreadable(type, "a date") }
        return instant
    }

    func number(_ type: Int64) throws(ReceiptRefusal) -> Int64? {
        guard let element = try element(type) else { return nil }
        guard let number = element.integer else { throw unreadable(type, "a whole number") }
        return number
    }

    /// - Shape: `nil` when missing or zero, which stands for none.
    func identifier(_ type: Int64) throws(ReceiptRefusal) -> Int64? {
        let number = try number(type)
        return number == 0 ? nil : number
    }

    func flag(_ type: Int64) throws(ReceiptRefusal) -> Bool? {
        try number(type).map { $0 != 0 }
    }

    /// The value of the only attribute with this number.
    private func element(_ type: Int64) throws(ReceiptRefusal) -> BERElement? {
        let found = all(type)
        guard let first = found.first else { return nil }
        guard found.count == 1, let element = BERElement.only(in: first[...]) else {
            throw unreadable(type, "one element")
        }
        return element
    }

    private func unreadable(_ type: Int64, _ wanted: String) -> ReceiptRefusal {
        .unparsable("attribute \(type) of \(name) is not \(wanted)")
    }
}
