/// What the program tells its keepers: one JSON object a line, on standard error.
///
/// Never throws and never waits for long, so it may be called anywhere. No secret, signed byte or
/// customer belongs in a line at `info` or above: name the position, the stream or the first bytes
/// of a digest.
public enum Log {
    /// The process's own log.
    public static let standard = Logger(sink: StandardErrorSink())

    /// What helps to find a fault; off unless asked for.
    public static func debug(
        _ message: @autoclosure () -> String, _ fields: @autoclosure () -> LogFields = [:]
    ) {
        guard standard.writes(.debug) else { return }
        standard.write(.debug, message(), fields())
    }

    /// What happened, as intended.
    public static func info(_ message: String, _ fields: LogFields = [:]) {
        standard.write(.info, message, fields)
    }

    /// What was coped with and should be looked at.
    public static func warning(_ message: String, _ fields: LogFields = [:]) {
        standard.write(.warning, message, fields)
    }

    /// What did not work and needs somebody.
    public static func error(_ message: String, _ fields: LogFields = [:]) {
        standard.write(.error, message, fields)
    }
}

/// Names and values beside a message, written in this order.
///
/// - Shape: names are `lowerCamelCase`; `time`, `level`, `message`, `repeated` and `dropped` are the
///   line's own, and a field so named gets an underscore behind it.
public typealias LogFields = KeyValuePairs<String, String>
