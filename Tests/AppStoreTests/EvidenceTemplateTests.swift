import AppStore
import Crypto
import TestSigner
import Testing

@Suite("An evidence template")
struct EvidenceTemplateTests {
    private func restored(_ template: EvidenceTemplate) throws -> [UInt8] {
        try EvidenceTemplate.restore(
            template.bytes, certificates: { template.certificates[$0] }, tokens: template.tokens)
    }

    @Test("gives back the exact text, in little space, with certificates and tokens elsewhere")
    func roundTrip() throws {
        let sample = try Sample()
        let text = Array(try sample.notification().utf8)
        let template = EvidenceTemplate.make(text)
        #expect(!template.isRaw)
        #expect(template.tokens == [Sample.token])
        #expect(template.certificates.count == 1)
        #expect(
            try EvidenceTemplate.certificates(namedBy: template.bytes)
                == Set(template.certificates.keys))
        for (digest, header) in template.certificates {
            #expect(SHA256.digest(of: header) == digest)
        }
        #expect(template.bytes.count * 4 < text.count)
        let kept = String(decoding: template.bytes, as: UTF8.self)
        #expect(!kept.contains(Sample.token))
        #expect(kept.contains("pro.monthly"))
        #expect(try restored(template) == text)
    }

    @Test("keeps odd ways of writing", arguments: Formatting.allCases)
    func oddForms(form: Formatting) throws {
        let sample = try Sample()
        for text in [try sample.notification(), try sample.transaction()] {
            let written = Array(form.apply(to: text).utf8)
            let template = EvidenceTemplate.make(written)
            #expect(!template.isRaw)
            #expect(template.tokens == [Sample.token])
            #expect(try restored(template) == written)
        }
    }

    @Test(
        "keeps in place what no table of tokens could hold",
        arguments: [String(repeating: "7", count: 256), "\u{0}"])
    func unkeepable(token: String) throws {
        let text = Array(try Sample().transaction(["appAccountToken": "\"\(token)\""]).utf8)
        let template = EvidenceTemplate.make(text)
        #expect(template.tokens == [])
        #expect(try restored(template) == text)
    }

    @Test(
        "is raw for text that it cannot reproduce", arguments: ["", "a", "a.b.c", "no text at all"])
    func raw(text: String) throws {
        let template = EvidenceTemplate.make(Array(text.utf8))
        #expect(template.isRaw)
        #expect(template.bytes.count == text.utf8.count + 1)
        #expect(try restored(template) == Array(text.utf8))
    }

    @Test("gives back any text, whatever chance made of it")
    func chance() throws {
        let sample = try Sample()
        let text = Array(try sample.notification().utf8)
        var random = SeededRandom(seed: 42)
        for _ in 0..<200 {
            var mutated = text
            let index = Int.random(in: 0..<mutated.count, using: &random)
            if Bool.random(using: &random) {
                mutated[index] = UInt8.random(in: 0...255, using: &random)
            } else {
                mutated.insert(UInt8.random(in: 0...127, using: &random), at: index)
            }
            #expect(try restored(EvidenceTemplate.make(mutated)) == mutated)
        }
    }

    @Test("says which part is missing")
    func missing() throws {
        let template = EvidenceTemplate.make(Array(try Sample().transaction().utf8))
        let digest = try #require(template.certificates.keys.first)
        #expect(throws: TemplateError.certificatesMissing(digest)) {
            try EvidenceTemplate.restore(
                template.bytes, certificates: { _ in nil }, tokens: template.tokens)
        }
        #expect(throws: TemplateError.tokenMissing(index: 0)) {
            try EvidenceTemplate.restore(
                template.bytes, certificates: { template.certificates[$0] }, tokens: [])
        }
        #expect(throws: TemplateError.unknownVersion(9)) {
            try EvidenceTemplate.restore([9], certificates: { _ in nil }, tokens: [])
        }
    }

    @Test("that was damaged is refused or differs, and never harms")
    func damaged() throws {
        let template = EvidenceTemplate.make(Array(try Sample().transaction().utf8))
        let text = try restored(template)
        // The second byte says which alphabet was used: a text without its last two characters is
        // the same in both, and only then may another value there give the same text.
        let isSameInBoth = !text.contains(UInt8(ascii: "-")) && !text.contains(UInt8(ascii: "_"))
        for index in template.bytes.indices {
            for value in [0, 1, 0x7F, 0xFF] as [UInt8] where template.bytes[index] != value {
                var damaged = template.bytes
                damaged[index] = value
                let found = try? EvidenceTemplate.restore(
                    damaged, certificates: { template.certificates[$0] }, tokens: template.tokens)
                #expect(found != text || (index == 1 && value == 1 && isSameInBoth))
            }
            let cut = Array(template.bytes[..<index])
            #expect(throws: TemplateError.self) {
                try EvidenceTemplate.restore(
                    cut, certificates: { template.certificates[$0] }, tokens: template.tokens)
            }
        }
    }
}
