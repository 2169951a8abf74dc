/// Exchange rates of one day, as a publisher set or corrected them.
public struct RatesSet: Sendable, Hashable {
    /// The day that they are of.
    public var day: Day
    /// The currency of which one unit is worth so many of the others, ISO 4217.
    public var base: String
    /// Who published them, such as `ECB`.
    public var publisher: String
    /// What one unit of the base is worth, by currency; currencies not named stay as they were.
    public var values: [String: ExactDecimal]

    /// Rates of a day.
    public init(day: Day, base: String, publisher: String, values: [String: ExactDecimal]) {
        self.day = day
        self.base = base
        self.publisher = publisher
        self.values = values
    }

    /// The stream that they belong to: one for each base and year, so that none grows long.
    public var stream: StreamID { .rates(base: base, year: day.year) }

    var body: JSON {
        JSON(members: [
            "base": .string(base), "day": .string(day.description),
            "publisher": .string(publisher),
            "values": .object(
                values.sorted { $0.key < $1.key }.map {
                    JSON.Member($0.key, .string($0.value.description))
                }),
        ])
    }

    init(body: JSON) throws(CodecError) {
        let read = BodyReader(body)
        guard let day = Day(try read.text("day")) else { throw .unreadable(member: "day") }
        guard let members = body["values"]?.members else { throw .unreadable(member: "values") }
        var values: [String: ExactDecimal] = [:]
        for member in members {
            guard let value = member.value.text.flatMap({ ExactDecimal($0) }) else {
                throw .unreadable(member: "values")
            }
            values[member.name] = value
        }
        self.init(
            day: day, base: try read.text("base"), publisher: try read.text("publisher"),
            values: values)
    }
}

extension StreamID {
    /// The stream of a year's exchange rates of one base currency.
    public static func rates(base: String, year: Int64) -> StreamID {
        StreamID(name: "rates/\(base)/\(year)")
    }
}
