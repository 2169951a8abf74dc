import AppStore
import Crypto
import Domain
import Testing

@Suite("A transaction receipt")
struct TransactionReceiptTests {
    private static let info = """
        {
        \t"original-purchase-date-pst" = "2012-04-30 08:05:55 America/Los_Angeles";
        \t"original-transaction-id" = "1001";
        \t"transaction-id" = "1002";
        \t"product-id" = "pro.\\"monthly\\"";
        \tbid = com.example.app;
        }
        """

    private static func receipt(info: String = info, more: String = "") -> [UInt8] {
        let inner = Base64.encode(Array(info.utf8))
        return Array(
            """
            {
            \t"signature" = "AAAA";
            \t"purchase-info" = "\(inner)";\(more)
            \t"pod" = "100";
            }\n
            """.utf8)
    }

    @Test("names its app, product and transactions")
    func whole() throws {
        let receipt = try #require(TransactionReceipt(Self.receipt()))
        #expect(receipt.bundle == "com.example.app")
        #expect(receipt.product == "pro.\"monthly\"")
        #expect(receipt.transaction == "1002")
        #expect(receipt.original == "1001")
        #expect(receipt.environment == .production)
        let sandbox = Self.receipt(more: "\n\"environment\" = \"Sandbox\";")
        #expect(TransactionReceipt(sandbox)?.environment == .sandbox)
        #expect(TransactionReceipt(base64: Base64.encode(Self.receipt())) == receipt)
    }

    @Test("is told from everything else")
    func foreign() {
        let whole = Self.receipt()
        let texts: [[UInt8]] = [
            [], Array("{".utf8), Array("{}".utf8), Array("[]".utf8), [0x30, 0x80],
            Self.receipt(info: "{ \"a\" }"), whole + whole, Array(whole.dropLast(2)),
            Array("{ \"purchase-info\" = \"?\"; }".utf8), Array("{ a = \"b\\".utf8),
        ]
        for text in texts { #expect(TransactionReceipt(text) == nil) }
        #expect(TransactionReceipt(base64: "?") == nil)
    }
}
