/// The ways in which one name of a customer may be written.
///
/// An account token is a UUID, and one that is bound to nobody is itself a customer's id. So an id
/// of that form names the same customer in upper and in lower case; every other id is taken
/// exactly as it is.
public enum Spellings {
    /// The id itself first, then, for a UUID, its other spellings.
    public static func of(_ id: String) -> [String] {
        guard isUUID(id) else { return [id] }
        var spellings = [id]
        for other in [id.lowercased(), id.uppercased()] where other != id {
            spellings.append(other)
        }
        return spellings
    }

    /// The account token that an id of a customer stands for; the id itself when it is no UUID.
    static func token(_ id: String) -> String { isUUID(id) ? id.lowercased() : id }

    private static func isUUID(_ id: String) -> Bool {
        guard id.utf8.count == 36 else { return false }
        for (place, byte) in id.utf8.enumerated() {
            let isRight =
                switch place {
                case 8, 13, 18, 23: byte == UInt8(ascii: "-")
                default: Character(UnicodeScalar(byte)).isHexDigit
                }
            guard isRight else { return false }
        }
        return true
    }
}
