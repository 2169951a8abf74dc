/// The text of one log line.
enum LogLine {
    /// What identifies a line: everything but when it was written.
    static func body(_ level: LogLevel, _ message: String, _ fields: LogFields) -> String {
        var text = "\"level\":\"\(level.rawValue)\",\"message\":"
        appendQuoted(message, to: &text)
        for (name, value) in fields {
            text += ","
            appendQuoted(reserved.contains(name) ? name + "_" : name, to: &text)
            text += ":"
            appendQuoted(value, to: &text)
        }
        return text
    }

    /// The whole line: when, what, and how many equal ones were held back before it.
    static func line(time: WallTime, body: String, repeated: Int) -> String {
        let tail = repeated > 0 ? ",\"repeated\":\(repeated)" : ""
        return "{\"time\":\"\(time.text)\",\(body)\(tail)}"
    }

    private static let reserved: Set = ["time", "level", "message", "repeated", "dropped"]

    private static func appendQuoted(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
