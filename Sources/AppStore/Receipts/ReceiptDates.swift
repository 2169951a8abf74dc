import Domain
import Foundation

extension Reading {
    /// A date of a receipt, which is written in up to five ways; milliseconds win (R18).
    ///
    /// - Source: Apple: `X_ms`; in answers of old `X` itself may be milliseconds, with
    ///   `X_formatted` beside it; `X` and `X_pst` are texts such as
    ///   `2020-02-29 17:12:48 Etc/GMT` and `… America/Los_Angeles`.
    func receiptDate(_ name: String) throws(Hold) -> Instant? {
        if let instant = try instant(name + "_ms") { return instant }
        for name in [name, name + "_formatted", name + "_pst"] {
            guard let text = try text(name) else { continue }
            if let milliseconds = Reading.milliseconds(.string(text)) {
                return Instant(milliseconds: milliseconds)
            }
            guard let instant = Reading.instant(named: text) else {
                throw Hold(.unparsable, "\(name) is no date of a receipt")
            }
            return instant
        }
        return nil
    }

    /// The instant of a text with a time zone's name at its end.
    private static func instant(named text: String) -> Instant? {
        let parts = text.split(separator: " ")
        guard parts.count == 3, let local = Instant("\(parts[0])T\(parts[1])Z") else { return nil }
        if ["Etc/GMT", "GMT", "UTC", "Etc/UTC"].contains(parts[2]) { return local }
        guard parts[2] == "America/Los_Angeles",
            let zone = TimeZone(identifier: "America/Los_Angeles")
        else { return nil }
        // The offset in force at that local time; an hour that comes twice is its later one.
        let standard = local.adding(milliseconds: 8 * 3_600_000)
        let offset = zone.secondsFromGMT(
            for: Date(timeIntervalSince1970: Double(standard.milliseconds) / 1_000))
        return local.adding(milliseconds: Int64(-offset) * 1_000)
    }
}
