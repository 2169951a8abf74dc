import AppStore
import Crypto
import Domain
import Testing

@Suite("Genuine app receipts", .enabled(if: Genuine.cases != nil))
struct GenuineReceiptTests {
    private func receipt(_ name: String) throws -> AppReceipt {
        let text = String(decoding: try Genuine.text("receipts/\(name).b64"), as: UTF8.self)
        return try AppReceipt.read(base64: text)
    }

    @Test("give their nine rows with a trial, although their certificates have expired")
    func trial() throws {
        let receipt = try receipt("revenuecat-sample-9tx-trial")
        #expect(receipt.environment == .sandbox)
        #expect(receipt.createdAt == Instant("2020-07-22T17:39:08Z"))
        #expect(receipt.rows.count == 9)
        #expect(Set(receipt.rows.map(\.original)).count == 1)
        #expect(Set(receipt.rows.map(\.transaction)).count == 9)
        #expect(Set(receipt.rows.map(\.webOrderLineItem)).subtracting([nil]).count == 9)
        #expect(receipt.rows.filter { $0.isTrial == true }.count == 1)
        let first = receipt.rows.min { $0.expiresAt ?? .distantPast < $1.expiresAt ?? .distantPast }
        #expect(first?.isTrial == true)
        #expect(
            receipt.rows.compactMap(\.expiresAt).max() == Instant("2020-07-22T18:39:06Z"))
        #expect(receipt.rows.allSatisfy { $0.quantity == 1 && $0.cancelledAt == nil })
    }

    @Test("give five rows of several kinds of products")
    func kinds() throws {
        let receipt = try receipt("mbaasy-5tx")
        #expect(receipt.environment == .sandbox)
        #expect(receipt.rows.count == 5)
        #expect(Set(receipt.rows.map(\.productType)).count > 2)
        let renewable = receipt.rows.filter { $0.expiresAt != nil }
        #expect(renewable.allSatisfy { $0.webOrderLineItem != nil })
        let others = receipt.rows.filter { $0.expiresAt == nil }
        #expect(!others.isEmpty && others.allSatisfy { $0.webOrderLineItem == nil })
    }

    @Test("of an app without purchases have no rows")
    func none() throws {
        let receipt = try receipt("mac-production-2017-no-iap")
        #expect(receipt.environment == .production)
        #expect(receipt.version == receipt.originalVersion)
        #expect(receipt.appAppleId != nil)
        #expect(receipt.rows == [])
    }

    @Test("are refused when Xcode signed them")
    func refused() throws {
        let names = try Genuine.names("receipts/refuse")
        #expect(names.count >= 4)
        for name in names {
            let text = String(
                decoding: try Genuine.text("receipts/refuse/" + name), as: UTF8.self)
            #expect(
                throws: ReceiptRefusal.forged(
                    .untrustedRoot, "no chain leads from the signer to a trusted root")
            ) { try AppReceipt.read(base64: text) }
        }
    }

    @Test("are refused when a byte of what they say was changed")
    func damaged() throws {
        let text = try Genuine.text("receipts/mbaasy-5tx.b64")
        let bytes = try #require(Base64.decode(String(decoding: text, as: UTF8.self)))
        let content = try SignedData(ber: bytes).content
        let start = try #require(bytes.firstRange(of: content)).lowerBound
        for place in stride(from: start, to: start + content.count, by: 7) {
            var damaged = bytes
            damaged[place] ^= 0x01
            #expect(
                throws: ReceiptRefusal.forged(
                    .badSignature, "the signature is not this receipt's")
            ) { try AppReceipt.read(damaged) }
        }
    }
}
