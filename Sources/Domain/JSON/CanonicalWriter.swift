/// Writes a value in its canonical form without making it first.
///
/// Whoever writes an object names its members in the order of their names.
struct CanonicalWriter {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(1 << 12) }

    /// An object as the whole value or as the next element of a list.
    mutating func object(_ members: (inout CanonicalWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// A member that is a list of objects.
    mutating func list<Element>(
        _ name: StaticString, _ elements: [Element],
        _ write: (inout CanonicalWriter, Element) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for element in elements { write(&self, element) }
        bytes.append(UInt8(ascii: "]"))
    }

    /// A member that is a text; nothing for `nil`.
    mutating func text(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        begin(name)
        JSON.write(text: value, into: &bytes)
    }

    /// A member that is a whole number; nothing for `nil`.
    mutating func whole(_ name: StaticString, _ value: Int64?) {
        guard let value else { return }
        begin(name)
        JSON.write(value, into: &bytes)
    }

    /// A member that is an instant as milliseconds; nothing for `nil`.
    mutating func instant(_ name: StaticString, _ value: Instant?) {
        whole(name, value?.milliseconds)
    }

    /// A member that is a truth value; nothing for `nil`.
    mutating func truth(_ name: StaticString, _ value: Bool?) {
        json(name, value.map(JSON.bool))
    }

    /// A member of any value; nothing for `nil`.
    mutating func json(_ name: StaticString, _ value: JSON?) {
        guard let value else { return }
        begin(name)
        value.write(into: &bytes, sorted: true)
    }

    private mutating func begin(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }
}
