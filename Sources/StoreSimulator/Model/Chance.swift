/// Chance from a seed: the same seed gives the same lives.
///
/// - Source: Steele, Lea and Flood, SplitMix64.
struct Chance: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 to below a limit.
    mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }

    /// True in one of so many cases.
    mutating func once(in count: Int) -> Bool { below(count) == 0 }

    /// True in a share of the cases.
    mutating func happens(_ share: Double) -> Bool {
        share > 0 && Double.random(in: 0..<1, using: &self) < share
    }

    /// One of several things.
    mutating func one<Thing>(of things: [Thing]) -> Thing { things[below(things.count)] }

    /// A UUID in lower case.
    mutating func uuid() -> String {
        let digits = Array("0123456789abcdef")
        var text = ""
        for place in 0..<32 {
            if [8, 12, 16, 20].contains(place) { text += "-" }
            let digit = place == 12 ? 4 : place == 16 ? 8 + below(4) : below(16)
            text.append(digits[digit])
        }
        return text
    }
}
