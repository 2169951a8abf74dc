/// Metrics in Prometheus' text format.
///
/// - Source: Prometheus, "Exposition formats", text-based format 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    mutating func append(_ family: MetricFamily, named name: String) {
        guard let type = family.metrics.values.first?.type else { return }
        text += "# HELP \(name) \(Self.escaped(family.help, quotes: false))\n"
        text += "# TYPE \(name) \(type)\n"
        let sorted = family.metrics.map { (labels: Self.labels($0.key), metric: $0.value) }
            .sorted { $0.labels < $1.labels }
        for (labels, metric) in sorted {
            switch metric {
            case .counter(let counter): sample(name, labels, Double(counter.value))
            case .gauge(let gauge): sample(name, labels, gauge.value)
            case .reading(let reading): sample(name, labels, reading())
            case .histogram(let histogram): append(histogram, name, labels)
            }
        }
    }

    private mutating func append(_ histogram: Histogram, _ name: String, _ labels: String) {
        let snapshot = histogram.snapshot
        var total = 0
        for (bound, count) in zip(histogram.buckets + [.infinity], snapshot.counts) {
            total += count
            let le = "le=\"\(Self.number(bound))\""
            sample(name + "_bucket", labels.isEmpty ? le : labels + "," + le, Double(total))
        }
        sample(name + "_sum", labels, snapshot.sum)
        sample(name + "_count", labels, Double(total))
    }

    private mutating func sample(_ name: String, _ labels: String, _ value: Double) {
        text += labels.isEmpty ? name : "\(name){\(labels)}"
        text += " \(Self.number(value))\n"
    }

    private static func labels(_ labels: [MetricLabel]) -> String {
        labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",")
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return String(whole) }
        return String(value)
    }

    private static func escaped(_ value: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
