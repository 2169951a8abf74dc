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
        try present(try textIfAny(name), name)
    }

    func whole(_ name: String) throws(CodecError) -> Int64 {
        try present(try wholeIfAny(name), name)
    }

    func instant(_ name: String) throws(CodecError) -> Instant {
        Instant(milliseconds: try whole(name))
    }

    func customer(_ name: String) throws(CodecError) -> CustomerNumber {
        CustomerNumber(try whole(name))
    }

    func textIfAny(_ name: String) throws(CodecError) -> String? {
        switch json[name] {
        case nil: nil
        case .string(let text)?: text
        default: throw .unreadable(member: name)
        }
    }

    func wholeIfAny(_ name: String) throws(CodecError) -> Int64? {
        switch json[name] {
        case nil: nil
        case .integer(let value)?: value
        default: throw .unreadable(member: name)
        }
    }

    func instantIfAny(_ name: String) throws(CodecError) -> Instant? {
        try wholeIfAny(name).map(Instant.init(milliseconds:))
    }

    func customerIfAny(_ name: String) throws(CodecError) -> CustomerNumber? {
        try wholeIfAny(name).map(CustomerNumber.init)
    }

    func truthIfAny(_ name: String) throws(CodecError) -> Bool? {
        switch json[name] {
        case nil: nil
        case .bool(let truth)?: truth
        default: throw .unreadable(member: name)
        }
    }

    private func present<T>(_ value: T?, _ name: String) throws(CodecError) -> T {
        guard let value else { throw .unreadable(member: name) }
        return value
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
