/// Why a recorded body cannot be read.
public enum CodecError: Error, Equatable, Sendable {
    /// A member is missing or of another kind than every edition wrote.
    case unreadable(member: String)

    /// The error in words.
    public var message: String {
        switch self {
        case .unreadable(let member): "the recorded member `\(member)` cannot be read"
        }
    }
}

/// Reads the members of a recorded object.
struct BodyReader {
    let json: JSON

    init(_ json: JSON) { self.json = json }

    func text(_ name: String) throws(CodecError) -> String {
        guard let value = json[name]?.text else { throw .unreadable(member: name) }
        return value
    }

    func whole(_ name: String) throws(CodecError) -> Int64 {
        guard let value = json[name]?.integer else { throw .unreadable(member: name) }
        return value
    }

    func instant(_ name: String) throws(CodecError) -> Instant {
        Instant(milliseconds: try whole(name))
    }

    func customer(_ name: String) throws(CodecError) -> CustomerNumber {
        CustomerNumber(try whole(name))
    }

    func textIfAny(_ name: String) throws(CodecError) -> String? {
        json[name] == nil ? nil : try text(name)
    }

    func wholeIfAny(_ name: String) throws(CodecError) -> Int64? {
        json[name] == nil ? nil : try whole(name)
    }

    func instantIfAny(_ name: String) throws(CodecError) -> Instant? {
        json[name] == nil ? nil : try instant(name)
    }

    func customerIfAny(_ name: String) throws(CodecError) -> CustomerNumber? {
        json[name] == nil ? nil : try customer(name)
    }

    func truthIfAny(_ name: String) throws(CodecError) -> Bool? {
        guard let value = json[name] else { return nil }
        guard let truth = value.bool else { throw .unreadable(member: name) }
        return truth
    }

    func texts(_ name: String) throws(CodecError) -> [String] {
        guard let value = json[name] else { return [] }
        guard let elements = value.elements else { throw .unreadable(member: name) }
        var texts: [String] = []
        for element in elements {
            guard let text = element.text else { throw .unreadable(member: name) }
            texts.append(text)
        }
        return texts
    }
}

extension JSON {
    /// Flags as a list; nothing when there are none.
    static func flags(_ flags: [String]) -> JSON? {
        flags.isEmpty ? nil : .array(flags.map(JSON.string))
    }
}
