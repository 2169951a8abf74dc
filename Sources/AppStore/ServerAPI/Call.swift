import Crypto
import Domain

/// One question to the server API.
struct Call: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    /// How many calls of a kind Apple allows an app in a second.
    enum Rate: Double, Sendable, CaseIterable {
        case common = 50
        case changes = 20
        case lookUps = 10
        case tests = 1
    }

    /// What it is called in metrics: few, known words.
    let name: String
    let method: Method
    let path: String
    let rate: Rate
    let body: JSON?

    /// A call of a path that is made of these parts.
    init(
        _ name: String, _ parts: [String], _ query: [(name: String, value: String?)] = [],
        method: Method = .get, rate: Rate = .common, body: JSON? = nil
    ) {
        self.name = name
        self.method = method
        self.rate = rate
        self.body = body
        let items = query.compactMap { item in
            item.value.map { Call.escaped(item.name) + "=" + Call.escaped($0) }
        }
        path =
            "/inApps/" + parts.map(Call.escaped).joined(separator: "/")
            + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// All but unreserved characters escaped (RFC 3986).
    private static func escaped(_ text: String) -> String {
        var escaped: [UInt8] = []
        for byte in text.utf8 {
            if isUnreserved(byte) {
                escaped.append(byte)
            } else {
                escaped.append(UInt8(ascii: "%"))
                escaped += Hex.encode([byte]).uppercased().utf8
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
