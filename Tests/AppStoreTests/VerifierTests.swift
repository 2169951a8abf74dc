import AppStore
import Crypto
import Domain
import TestSigner
import Testing

@Suite("A signed text")
struct VerifierTests {
    private let payload = Sample.transactionPayload()
    private let received = Sample.receivedAt

    private func refusal(_ verifier: Verifier, _ text: String) -> String? {
        do throws(Refusal) {
            _ = try verifier.verify(Array(text.utf8), receivedAt: received)
            return nil
        } catch {
            return error.reason
        }
    }

    private func refusal(_ store: TestStore, _ text: String) -> String? {
        refusal(Verifier(roots: [store.root]), text)
    }

    @Test("that nothing is wrong with is believed, with its payload and digests")
    func intact() throws {
        let store = try TestStore()
        let text = try store.sign(payload)
        let jws = try Verifier(roots: [store.root]).verify(Array(text.utf8), receivedAt: received)
        #expect(jws.payload == Array(payload.utf8))
        #expect(jws.payloadDigest == SHA256.digest(of: payload))
        #expect(jws.signedAt == Instant(milliseconds: 1_749_999_990_000))
        #expect(text.hasPrefix(String(decoding: jws.header, as: UTF8.self) + "."))
        #expect(jws.signers.header == SHA256.digest(of: jws.header))
        #expect(!jws.isNonCanonical)
    }

    @Test(
        "is malformed unless it has three segments of base64 under a JSON header",
        arguments: [
            "", "a", "a.b", "a.b.c.d", "..", "e30..AAAA", ".e30.AAAA", "e30.e30.A",
            "e30==.e30.AAAA",
            "e3*0.e30.AAAA", "AAAA.AAAA.AAAA", "\"\".e30.AAAA", "e30.e3\u{e9}.AAAA",
        ])
    func malformed(text: String) throws {
        #expect(refusal(try TestStore(), text) == "malformed")
    }

    @Test("has a bad header without ES256 or exactly three base64 certificates")
    func badHeader() throws {
        let store = try TestStore()
        let x5c = store.x5c
        let headers = [
            store.header(alg: "none"), store.header(alg: "HS256"), store.header(alg: "es256"),
            store.header(x5c: []), store.header(x5c: Array(x5c[..<2])),
            store.header(x5c: x5c + [x5c[2]]), store.header(x5c: [x5c[0], x5c[1], "*"]),
            store.header(x5c: [x5c[0], x5c[1], ""]), "{\"alg\":\"ES256\"}",
            "{\"alg\":\"ES256\",\"x5c\":\"text\"}", "{\"alg\":\"ES256\",\"x5c\":[1,2,3]}",
            "{\"alg\":7}", "{}",
            store.header().replacing("{\"alg\"", with: "{\"crit\":[\"b64\"],\"alg\""),
        ]
        for header in headers {
            #expect(refusal(store, try store.sign(payload, header: header)) == "bad_header")
        }
        let none = try store.sign(payload, header: store.header(alg: "none"))
        #expect(
            refusal(store, none.split(separator: ".")[..<2].joined(separator: ".") + ".")
                == "bad_header")
        #expect(refusal(store, try store.sign(payload)) == nil)
    }

    @Test("has an untrusted root when its path does not end at one of ours")
    func untrustedRoot() throws {
        let ours = try TestStore()
        let foreign = try TestStore()
        let foreignText = try foreign.sign(payload)
        #expect(refusal(ours, foreignText) == "untrusted_root")
        #expect(refusal(Verifier(), foreignText) == "untrusted_root")
        #expect(refusal(foreign, foreignText) == nil)
        // Our root at the end of a foreign path lends it nothing.
        let borrowed = foreign.header(x5c: Array(foreign.x5c[..<2]) + [ours.x5c[2]])
        #expect(refusal(ours, try foreign.sign(payload, header: borrowed)) == "untrusted_root")
        let grafted = ours.header(x5c: [foreign.x5c[0]] + ours.x5c[1...])
        #expect(refusal(ours, try foreign.sign(payload, header: grafted)) == "untrusted_root")
        // What stands in the root's place does not matter when the path ends at ours.
        let replaced = ours.header(x5c: Array(ours.x5c[..<2]) + [foreign.x5c[2]])
        #expect(refusal(ours, try ours.sign(payload, header: replaced)) == nil)
    }

    @Test("has a bad certificate when one is unreadable or did not hold at its signing")
    func badCertificate() throws {
        let store = try TestStore()
        let broken = store.header(x5c: ["AAAA"] + store.x5c[1...])
        #expect(refusal(store, try store.sign(payload, header: broken)) == "bad_certificate")
        let windows: [WritableKeyPath<TestStore.Chain, (from: Int64, through: Int64)?>] = [
            \.leafValidity, \.intermediateValidity, \.rootValidity,
        ]
        for window in windows {
            for (from, through, reason) in [
                (1_750_000_000_000, 1_800_000_000_000, "bad_certificate"),
                (1_700_000_000_000, 1_749_999_000_000, "bad_certificate"),
                (1_700_000_000_000, 1_749_999_990_000, nil),
            ] as [(Int64, Int64, String?)] {
                var chain = TestStore.Chain()
                chain[keyPath: window] = (from, through)
                let dated = try TestStore(chain)
                #expect(refusal(dated, try dated.sign(payload)) == reason)
            }
        }
    }

    @Test("has a wrong purpose without Apple's marks or under no authority")
    func wrongPurpose() throws {
        let faults: [WritableKeyPath<TestStore.Chain, Bool>] = [
            \.marksLeaf, \.marksIntermediate, \.intermediateIsAuthority,
        ]
        for fault in faults {
            var chain = TestStore.Chain()
            chain[keyPath: fault] = false
            let store = try TestStore(chain)
            #expect(refusal(store, try store.sign(payload)) == "wrong_purpose")
        }
    }

    @Test("has a bad signature when any part of it was changed")
    func badSignature() throws {
        let store = try TestStore()
        let verifier = Verifier(roots: [store.root])
        let text = try store.sign(payload)
        let parts = text.split(separator: ".").map(String.init)
        let other = try store.sign(payload + " ").split(separator: ".").map(String.init)
        for tampered in [
            [parts[0], other[1], parts[2]], [parts[0], parts[1], other[2]],
            [parts[0], parts[1], String(parts[2].dropLast(8))], [parts[0], parts[1], ""],
            [parts[0], parts[1], parts[2] + "AAAA"],
            [parts[0], parts[1], String(repeating: "A", count: 86)],
            [parts[0], parts[1], String(repeating: "_", count: 86)],
        ] {
            #expect(refusal(verifier, tampered.joined(separator: ".")) == "bad_signature")
        }
        // The last character has bits that write nothing; nobody signed them.
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        for character in alphabet where String(character) != parts[2].suffix(1) {
            #expect(refusal(verifier, text.dropLast() + String(character)) == "bad_signature")
        }
        #expect(refusal(verifier, text) == nil)
    }

    @Test("gives the reason that comes first when several things are wrong")
    func order() throws {
        var chain = TestStore.Chain()
        chain.marksLeaf = false
        chain.leafValidity = (1_600_000_000_000, 1_700_000_000_000)
        let store = try TestStore(chain)
        let ours = try TestStore()
        let unsigned = String(try store.sign(payload).dropLast(8))
        #expect(refusal(store, unsigned + "*") == "malformed")
        let headless = String(
            try store.sign(payload, header: store.header(alg: "none")).dropLast(8))
        #expect(refusal(ours, headless) == "bad_header")
        #expect(refusal(ours, unsigned) == "untrusted_root")
        #expect(refusal(store, unsigned) == "bad_certificate")
        let earlier = payload.replacing("1749999990000", with: "1650000000000")
        #expect(refusal(store, String(try store.sign(earlier).dropLast(8))) == "wrong_purpose")
        #expect(refusal(ours, String(try ours.sign(payload).dropLast(8))) == "bad_signature")
    }

    @Test("verifies for ever once its certificates have expired, and only as signed then")
    func archive() throws {
        var chain = TestStore.Chain()
        chain.leafValidity = (1_749_000_000_000, 1_751_000_000_000)
        let store = try TestStore(chain)
        let verifier = Verifier(roots: [store.root])
        let late = Instant(milliseconds: 2_500_000_000_000)
        let text = Array(try store.sign(payload).utf8)
        #expect(
            try verifier.verify(text, receivedAt: late).effectiveAt
                == Instant(milliseconds: 1_749_999_990_000))
        // The chain is known by now; its dates are judged for each text all the same.
        let later = payload.replacing("1749999990000", with: "1752000000000")
        #expect(refusal(verifier, try store.sign(later)) == "bad_certificate")
        let undated = payload.replacing("\"signedDate\":1749999990000,", with: "")
        #expect(throws: Refusal.self) {
            try verifier.verify(Array(try store.sign(undated).utf8), receivedAt: late)
        }
        #expect(refusal(verifier, try store.sign(undated)) == nil)
    }

    @Test(
        "may be written in any form of base64, and is verified as it was signed",
        arguments: Formatting.allCases)
    func forms(form: Formatting) throws {
        let store = try TestStore()
        let verifier = Verifier(roots: [store.root])
        // Enough different signatures that every character of the alphabet is met.
        for _ in 0..<20 {
            let text = try store.sign(payload.replacing("pro.monthly", with: "\u{3fff}\u{fbff}?>~"))
            let written = form.apply(to: text)
            let jws = try verifier.verify(Array(written.utf8), receivedAt: received)
            #expect(jws.isNonCanonical == (written != text))
            #expect(text.hasPrefix(String(decoding: jws.header, as: UTF8.self) + "."))
            let tampered = form.apply(to: text.replacing(".ey", with: ".ez", maxReplacements: 1))
            #expect(refusal(verifier, tampered) != nil)
        }
    }

    @Test("is judged the same by many threads at once")
    func concurrency() async throws {
        let stores = try (0..<5).map { _ in try TestStore() }
        let verifier = Verifier(roots: stores.map(\.root), chainLimit: 2)
        let payload = payload
        let good = try stores.map { Array(try $0.sign(payload).utf8) }
        let verdicts = await withTaskGroup(of: Bool.self) { group in
            for index in 0..<100 {
                group.addTask {
                    var text = good[index % good.count]
                    if index.isMultiple(of: 3) { text.removeLast(8) }
                    let verified = try? verifier.verify(text, receivedAt: Sample.receivedAt)
                    return (verified != nil) == !index.isMultiple(of: 3)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(verdicts.count == 100 && verdicts.allSatisfy(\.self))
    }

    @Test("that chance has changed never harms the verifier and is never believed as another")
    func chance() throws {
        let store = try TestStore()
        let verifier = Verifier(roots: [store.root])
        let text = Array(try store.sign(payload).utf8)
        var random = SeededRandom(seed: 4_711)
        for _ in 0..<3_000 {
            var mutated = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<mutated.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: mutated[index] = UInt8.random(in: 0...255, using: &random)
                case 1: mutated.remove(at: index)
                case 2: mutated.insert(UInt8.random(in: 0...127, using: &random), at: index)
                default: mutated.removeSubrange(index..<min(index + 40, mutated.count))
                }
            }
            let verified = try? verifier.verify(mutated, receivedAt: received)
            if let verified { #expect(verified.payload == Array(payload.utf8)) }
        }
    }
}

/// A generator whose sequence is the same in every run (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
