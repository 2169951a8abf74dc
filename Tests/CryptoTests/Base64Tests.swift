import Crypto
import Testing

@Suite("Base64")
struct Base64Tests {
    @Test(
        "writes and reads the examples of RFC 4648",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
        ])
    func examples(plain: String, encoded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == encoded)
        #expect(Base64.decode(encoded) == Array(plain.utf8))
        let bare = encoded.filter { $0 != "=" }
        #expect(Base64.encode(Array(plain.utf8), as: .urlSafe) == bare)
        #expect(Base64.decode(bare) == Array(plain.utf8))
    }

    @Test("reads both alphabets, and white space anywhere")
    func alphabets() {
        let bytes: [UInt8] = [0xFB, 0xEF, 0xFF, 0x00]
        #expect(Base64.encode(bytes) == "++//AA==")
        #expect(Base64.encode(bytes, as: .urlSafe) == "--__AA")
        for text in ["++//AA==", "--__AA", "+-/_AA", " ++\n//\tAA==\r\n", "++//AA=\n="] {
            #expect(Base64.decode(text) == bytes)
        }
    }

    @Test("reads a space as the plus it was, when told so")
    func spaces() {
        #expect(Base64.decode("  //AA==", spaces: .plus) == [0xFB, 0xEF, 0xFF, 0x00])
        #expect(Base64.decode("  //AA==", spaces: .ignored) == nil)
    }

    @Test(
        "refuses what no encoder writes",
        arguments: [
            "A", "AAAAA", "Zg=", "Zg===", "Zm9v=", "=", "Zg==Zg==", "Z*9v", "Zm9\u{e9}", "Zm.9",
            "Zm9v\0",
        ])
    func refuses(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("is strict where the URL-safe form alone is meant")
    func strict() {
        #expect(Base64.decodeURLSafe(Array("--__AA".utf8)[...]) == [0xFB, 0xEF, 0xFF, 0x00])
        for text in ["--__AA==", "++//AA", "--__ AA", "--__AA\n", "A"] {
            #expect(Base64.decodeURLSafe(Array(text.utf8)[...]) == nil)
        }
    }

    @Test("reads back whatever it wrote")
    func roundTrip() {
        for count in 0..<200 {
            let bytes = randomBytes(count)
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Base64.decode(Base64.encode(bytes, as: .urlSafe)) == bytes)
        }
    }
}
