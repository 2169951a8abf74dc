/// The metrics that share a name.
struct MetricFamily: Sendable {
    var help: String
    var metrics: [[MetricLabel]: Metric] = [:]
}

/// One label of a metric and its value.
struct MetricLabel: Hashable, Sendable {
    var name: String
    var value: String
}

/// One metric, whichever its type.
enum Metric: Sendable {
    case counter(Counter)
    case gauge(Gauge)
    case reading(@Sendable () -> Double)
    case histogram(Histogram)

    /// As Prometheus spells the type.
    var type: String {
        switch self {
        case .counter: "counter"
        case .gauge, .reading: "gauge"
        case .histogram: "histogram"
        }
    }
}

/// What Prometheus accepts as a name.
enum MetricName {
    static func isValid(_ name: String) -> Bool {
        matches(name, also: ":") && !name.isEmpty
    }

    static func isValidLabel(_ name: String) -> Bool {
        matches(name, also: "_") && !name.isEmpty && !name.hasPrefix("__") && name != "le"
    }

    private static func matches(_ name: String, also extra: Unicode.Scalar) -> Bool {
        for (index, scalar) in name.unicodeScalars.enumerated() {
            switch scalar {
            case "a"..."z", "A"..."Z", "_", extra: continue
            case "0"..."9" where index > 0: continue
            default: return false
            }
        }
        return true
    }
}
