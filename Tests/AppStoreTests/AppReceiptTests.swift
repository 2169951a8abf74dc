@testable import AppStore
import Crypto
import Domain
import Testing
import TestSigner

@Suite("An app receipt")
struct AppReceiptTests {
    private typealias Attribute = (type: Int64, value: [UInt8])
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private static func purchase(_ changes: [Int64: [UInt8]?] = [:]) -> [UInt8] {
        attributes(
            [
                1701: ReceiptMaker.number(1), 1702: ReceiptMaker.text("pro.monthly"),
                1703: ReceiptMaker.text("1002"), 1704: ReceiptMaker.date("2025-06-01T00:00:00Z"),
                1705: ReceiptMaker.text("1001"), 1706: ReceiptMaker.date("2025-05-01T00:00:00Z"),
                1707: ReceiptMaker.number(3), 1708: ReceiptMaker.date("2025-07-01T00:00:00Z"),
                1711: ReceiptMaker.number(7_000_000_000_000_001),
                1712: ReceiptMaker.date(""), 1713: ReceiptMaker.number(0),
                1719: ReceiptMaker.number(1), 1799: [0xFF],
            ], changes)
    }

    private static func receipt(
        _ purchases: [[UInt8]] = [purchase()], _ changes: [Int64: [UInt8]?] = [:]
    ) -> [UInt8] {
        let all: [Int64: [UInt8]] = [
            0: ReceiptMaker.text("ProductionSandbox"), 1: ReceiptMaker.number(0),
            2: ReceiptMaker.text("com.example.app"), 3: ReceiptMaker.text("42"),
            4: [0x9A, 0x31], 8: ReceiptMaker.date(""),
            12: ReceiptMaker.date("2025-06-02T10:00:00Z"),
            18: ReceiptMaker.date("2013-08-01T07:00:00Z"), 19: ReceiptMaker.text("1.0"),
        ]
        return attributes(all, changes, more: purchases.map { (17, $0) })
    }

    private static func attributes(
        _ all: [Int64: [UInt8]], _ changes: [Int64: [UInt8]?], more: [Attribute] = []
    ) -> [UInt8] {
        var values = all
        for (type, value) in changes { values[type] = value }
        return ReceiptMaker.attributes(
            values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + more)
    }

    private static let expected: AppReceipt = {
        let row = AppReceipt.Row(
            quantity: 1, product: "pro.monthly", transaction: "1002", original: "1001",
            purchasedAt: Instant("2025-06-01T00:00:00Z"),
            originallyPurchasedAt: Instant("2025-05-01T00:00:00Z"), productType: 3,
            expiresAt: Instant("2025-07-01T00:00:00Z"), webOrderLineItem: "7000000000000001",
            cancelledAt: nil, isTrial: false, isInIntroOffer: true)
        return AppReceipt(
            receiptType: "ProductionSandbox", bundle: "com.example.app", appAppleId: nil,
            version: "42", originalVersion: "1.0",
            createdAt: Instant(milliseconds: 1_748_858_400_000),
            originallyPurchasedAt: Instant("2013-08-01T07:00:00Z"), expiresAt: nil, rows: [row])
    }()

    private func read(_ content: [UInt8]) throws(ReceiptRefusal) -> AppReceipt {
        try AppReceipt.read(ReceiptMaker.sign(content, by: store), roots: [store.root])
    }

    private func reason(_ read: () throws -> AppReceipt) -> String? {
        do {
            _ = try read()
            return nil
        } catch {
            return (error as? ReceiptRefusal)?.reason ?? "\(error)"
        }
    }

    @Test("says what it holds")
    func whole() throws {
        #expect(try read(Self.receipt()) == Self.expected)
        #expect(Self.expected.environment == .sandbox)
    }

    @Test("is read as old and as sloppy writers write it", arguments: [true, false])
    func encodings(bySHA1: Bool) throws {
        for encoding in [ReceiptMaker.Encoding.definite, .open] {
            let bytes = ReceiptMaker.sign(
                Self.receipt(), by: store, encoding: encoding, bySHA1: bySHA1)
            #expect(try AppReceipt.read(bytes, roots: [store.root]) == Self.expected)
        }
    }

    @Test("is read from base64 in any of its spellings")
    func base64() throws {
        // Signed anew until the text has what a form decoder loses.
        var text = ""
        while !text.contains("+") || !text.contains("/") {
            text = Base64.encode(ReceiptMaker.sign(Self.receipt(), by: store))
        }
        let spellings = [
            text, text.replacing("=", with: ""), text.replacing("+", with: " "),
            text.replacing("+", with: "-").replacing("/", with: "_"),
            String(text.prefix(76)) + "\r\n" + text.dropFirst(76) + "\n",
        ]
        for spelling in spellings {
            #expect(
                try AppReceipt.read(base64: spelling, roots: [store.root]) == Self.expected)
        }
    }

    @Test("may have no purchases, and several")
    func rows() throws {
        #expect(try read(Self.receipt([])).rows == [])
        let two = try read(
            Self.receipt([Self.purchase(), Self.purchase([1703: ReceiptMaker.text("1003")])]))
        #expect(two.rows.map(\.transaction) == ["1002", "1003"])
    }

    @Test("leaves absent what it leaves out, leaves empty, or numbers zero")
    func absent() throws {
        let row = Self.purchase([
            1701: nil, 1705: ReceiptMaker.text(""), 1706: nil, 1707: nil,
            1708: ReceiptMaker.date(""), 1711: ReceiptMaker.number(0), 1713: nil,
            1719: nil,
        ])
        #expect(
            try read(Self.receipt([row])).rows == [
                AppReceipt.Row(
                    product: "pro.monthly", transaction: "1002",
                    purchasedAt: Instant("2025-06-01T00:00:00Z"))
            ])
        let bare = try read(Self.receipt([], [0: nil, 18: nil, 19: nil]))
        #expect(bare.receiptType == nil && bare.environment == nil)
    }

    @Test("is of the environment that its type names")
    func environments() throws {
        for (type, environment) in [
            ("Production", "Production"), ("ProductionVPP", "Production"),
            ("ProductionVPPSandbox", "Sandbox"), ("Xcode", "Xcode"), ("New", nil),
        ] {
            let receipt = try read(Self.receipt([], [0: ReceiptMaker.text(type)]))
            #expect(receipt.environment?.name == environment)
        }
    }

    @Test("is refused as unparsable when an attribute cannot be read, and never half believed")
    func unparsable() {
        let wrong: [[UInt8]] = [
            Self.receipt([], [2: nil]), Self.receipt([], [12: nil]),
            Self.receipt([], [12: ReceiptMaker.date("yesterday")]),
            Self.receipt([], [2: ReceiptMaker.number(2)]), Self.receipt([], [2: [0x0C, 0x09]]),
            Self.receipt([Self.purchase([1702: nil])]),
            Self.receipt([Self.purchase([1703: nil])]),
            Self.receipt([Self.purchase([1708: ReceiptMaker.date("2025-02-30T00:00:00Z")])]),
            Self.receipt([Self.purchase([1701: ReceiptMaker.text("1")])]),
            Self.receipt([[0x31, 0x02, 0x30, 0x00]]), Self.receipt([[]]),
            Self.receipt() + [0], Array("{}".utf8), [],
        ]
        for (place, content) in wrong.enumerated() {
            #expect(reason { try read(content) } == "unparsable", "case \(place)")
        }
    }

    @Test("is refused when nobody trusted stands behind it")
    func untrusted() throws {
        let bytes = ReceiptMaker.sign(Self.receipt(), by: store)
        let other = try TestStore().root
        #expect(reason { try AppReceipt.read(bytes) } == "untrusted_root")
        #expect(reason { try AppReceipt.read(bytes, roots: [other]) } == "untrusted_root")
        // As Xcode signs: with a certificate that stands for itself.
        let key = P256.PrivateKey()
        let alone = try CertificateMaker(name: "Alone").certificate(of: key)
        let signed = ReceiptMaker.sign(
            Self.receipt(), leaf: alone, key: key.key.pointer, others: [], encoding: .open)
        #expect(reason { try AppReceipt.read(signed, roots: [store.root]) } == "untrusted_root")
    }

    @Test("is refused when its certificates were made for something else")
    func purpose() throws {
        var leaf = TestStore.Chain()
        leaf.marksLeaf = false
        var middle = TestStore.Chain()
        middle.marksIntermediate = false
        for chain in [leaf, middle] {
            let store = try TestStore(chain)
            let bytes = ReceiptMaker.sign(Self.receipt(), by: store)
            #expect(
                reason { try AppReceipt.read(bytes, roots: [store.root]) } == "wrong_purpose")
        }
    }

    @Test("is believed for ever when its certificates held as it was made, and else never")
    func dates() throws {
        let made = Self.expected.createdAt.milliseconds
        for (from, through, outcome) in [
            (made - 1_000, made + 1_000, nil),
            (made - 9_000, made - 1_000, "bad_certificate"),
            (made + 1_000, made + 9_000, "bad_certificate"),
        ] {
            for certificate in [
                \TestStore.Chain.leafValidity, \.intermediateValidity, \.rootValidity,
            ] {
                var chain = TestStore.Chain()
                chain[keyPath: certificate] = (from, through)
                let store = try TestStore(chain)
                let bytes = ReceiptMaker.sign(Self.receipt(), by: store)
                #expect(reason { try AppReceipt.read(bytes, roots: [store.root]) } == outcome)
            }
        }
    }

    @Test("whose any byte was changed is refused, or says exactly what was signed")
    func flipped() throws {
        let bytes = ReceiptMaker.sign(Self.receipt(), by: store)
        var random = SeededRandom(seed: 17)
        for place in bytes.indices {
            var damaged = bytes
            damaged[place] ^= UInt8.random(in: 1...255, using: &random)
            do {
                // What no signature covers, such as the version of the form, may still change.
                #expect(try AppReceipt.read(damaged, roots: [store.root]) == Self.expected)
            } catch {}
        }
        let content = try #require(bytes.firstRange(of: Self.receipt()))
        for place in content {
            var damaged = bytes
            damaged[place] ^= UInt8.random(in: 1...255, using: &random)
            #expect(
                reason { try AppReceipt.read(damaged, roots: [store.root]) } == "bad_signature")
        }
    }

    @Test("that was cut, repeated or mixed up is refused, or says exactly what was signed")
    func mangled() throws {
        var random = SeededRandom(seed: 18)
        for encoding in [ReceiptMaker.Encoding.definite, .open] {
            let bytes = ReceiptMaker.sign(Self.receipt(), by: store, encoding: encoding)
            for _ in 0..<1_000 {
                var damaged = bytes
                for _ in 0..<Int.random(in: 1...3, using: &random) where !damaged.isEmpty {
                    let start = Int.random(in: 0..<damaged.count, using: &random)
                    let count = Int.random(in: 0...min(40, damaged.count - start), using: &random)
                    let piece = Array(damaged[start..<start + count])
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: damaged.removeSubrange(start..<start + count)
                    case 1: damaged.insert(contentsOf: piece, at: start)
                    default:
                        for place in start..<start + count {
                            damaged[place] = UInt8.random(in: 0...255, using: &random)
                        }
                    }
                }
                if let read = try? AppReceipt.read(damaged, roots: [store.root]) {
                    #expect(read == Self.expected)
                }
            }
        }
    }

    @Test("that is something else is refused as such")
    func malformed() {
        for text in ["", "?", "bm8gcmVjZWlwdA==", Base64.encode(store.leaf.der)] {
            #expect(reason { try AppReceipt.read(base64: text) } == "malformed")
        }
    }
}
