extension JSON {
    /// The one canonical text of this value: no white space, members sorted by name (UTF-8 bytes).
    ///
    /// Equal values give equal bytes, so a digest may cover them.
    public func canonicalBytes() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(512)
        write(into: &out, sorted: true)
        return out
    }

    /// A text of this value with members in their given order.
    public func bytes() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(512)
        write(into: &out, sorted: false)
        return out
    }

    /// Appends the text of this value.
    public func write(into out: inout [UInt8], sorted: Bool) {
        switch self {
        case .null: out.append(contentsOf: "null".utf8)
        case .bool(let value): out.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): JSON.write(value, into: &out)
        case .number(let text): out.append(contentsOf: text.utf8)
        case .string(let text): JSON.write(text: text, into: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.write(into: &out, sorted: sorted)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            let ordered = sorted ? JSON.inOrder(members) : members
            out.append(UInt8(ascii: "{"))
            for (index, member) in ordered.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                JSON.write(text: member.name, into: &out)
                out.append(UInt8(ascii: ":"))
                member.value.write(into: &out, sorted: sorted)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// The members sorted; most stand in order already.
    private static func inOrder(_ members: [Member]) -> [Member] {
        for index in members.indices.dropFirst() where !precedes(members[index - 1], members[index])
        {
            return members.sorted(by: precedes)
        }
        return members
    }

    static func write(_ value: Int64, into out: inout [UInt8]) {
        if value < 0 { out.append(UInt8(ascii: "-")) }
        let start = out.count
        var rest = value.magnitude
        repeat {
            out.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        out[start...].reverse()
    }

    private static func precedes(_ left: Member, _ right: Member) -> Bool {
        let compared = left.name.utf8.withContiguousStorageIfAvailable { left in
            right.name.utf8.withContiguousStorageIfAvailable { right in
                left.lexicographicallyPrecedes(right)
            }
        }
        return (compared ?? nil) ?? left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    static func write(text: String, into out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        let isPlain = text.utf8.withContiguousStorageIfAvailable { bytes in
            let isPlain = bytes.allSatisfy {
                $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 != 0x7F
            }
            if isPlain { out.append(contentsOf: bytes) }
            return isPlain
        }
        if isPlain == true {
            out.append(UInt8(ascii: "\""))
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): out.append(contentsOf: [0x5C, 0x22])
            case UInt8(ascii: "\\"): out.append(contentsOf: [0x5C, 0x5C])
            case 0x0A: out.append(contentsOf: [0x5C, UInt8(ascii: "n")])
            case 0x0D: out.append(contentsOf: [0x5C, UInt8(ascii: "r")])
            case 0x09: out.append(contentsOf: [0x5C, UInt8(ascii: "t")])
            case ..<0x20, 0x7F:
                let hex = Array("0123456789abcdef".utf8)
                out.append(contentsOf: "\\u00".utf8)
                out.append(hex[Int(byte >> 4)])
                out.append(hex[Int(byte & 15)])
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
