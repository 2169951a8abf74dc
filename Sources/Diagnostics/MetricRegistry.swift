import Synchronization

/// Every metric of the process, by name and labels.
///
/// Asking again for the same name and labels gives the same metric. A name belongs to one type and
/// one help text; using it for another is a fault of the program. A label's values are few and
/// known beforehand: never a customer, a line or anything else that evidence names.
public final class MetricRegistry: Sendable {
    private let families = Mutex<[String: MetricFamily]>([:])

    /// An empty registry.
    public init() {}

    /// What only grows, from 0 when the process starts. By custom its name ends in `_total`.
    public func counter(
        _ name: String, help: String, labels: [String: String] = [:]
    ) -> Counter {
        let metric = metric(name, help, labels) { .counter(Counter()) }
        guard case .counter(let counter) = metric else { Self.wrongType(name) }
        return counter
    }

    /// What rises and falls.
    public func gauge(_ name: String, help: String, labels: [String: String] = [:]) -> Gauge {
        let metric = metric(name, help, labels) { .gauge(Gauge()) }
        guard case .gauge(let gauge) = metric else { Self.wrongType(name) }
        return gauge
    }

    /// What is read when the metrics are asked for; the first closure given for a name and labels stays.
    public func gauge(
        _ name: String, help: String, labels: [String: String] = [:],
        reading: @escaping @Sendable () -> Double
    ) {
        let metric = metric(name, help, labels) { .reading(reading) }
        guard case .reading = metric else { Self.wrongType(name) }
    }

    /// How often values fell below each of some bounds.
    ///
    /// - Shape: `buckets` are the upper bounds, inclusive, rising; `+Inf` is added.
    public func histogram(
        _ name: String, help: String, labels: [String: String] = [:],
        buckets: [Double] = Histogram.latencySeconds
    ) -> Histogram {
        let metric = metric(name, help, labels) { .histogram(Histogram(buckets: buckets)) }
        guard case .histogram(let histogram) = metric else { Self.wrongType(name) }
        return histogram
    }

    /// All metrics in Prometheus' text format 0.0.4, sorted by name and labels.
    public func rendered() -> String {
        let known = families.withLock { $0 }
        var text = PrometheusText()
        for (name, family) in known.sorted(by: { $0.key < $1.key }) {
            text.append(family, named: name)
        }
        return text.text
    }

    /// The media type of `rendered()`.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private func metric(
        _ name: String, _ help: String, _ labels: [String: String], make: () -> Metric
    ) -> Metric {
        precondition(MetricName.isValid(name), "\(name) is no name of a metric")
        precondition(
            labels.keys.allSatisfy(MetricName.isValidLabel), "a label of \(name) is no name")
        let sorted = labels.sorted { $0.key < $1.key }.map {
            MetricLabel(name: $0.key, value: $0.value)
        }
        return families.withLock { families in
            var family = families[name] ?? MetricFamily(help: help)
            precondition(family.help == help, "\(name) has two help texts")
            if let known = family.metrics[sorted] { return known }
            let made = make()
            if let other = family.metrics.values.first, other.type != made.type {
                Self.wrongType(name)
            }
            family.metrics[sorted] = made
            families[name] = family
            return made
        }
    }

    private static func wrongType(_ name: String) -> Never {
        preconditionFailure("\(name) is used as two types of metric")
    }
}
