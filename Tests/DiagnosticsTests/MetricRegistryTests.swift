import Diagnostics
import Testing

@Suite("A registry of metrics")
struct MetricRegistryTests {
    private let registry = MetricRegistry()

    @Test("renders nothing when it is empty")
    func empty() {
        #expect(registry.rendered() == "")
    }

    @Test("renders counters and gauges by name, then by labels")
    func order() {
        registry.gauge("subledger_head", help: "The last position.").set(4711)
        registry.counter("subledger_appended_total", help: "Appended.", labels: ["kind": "renewed"])
            .add(2)
        registry.counter(
            "subledger_appended_total", help: "Appended.", labels: ["kind": "purchased"]
        ).add()
        registry.gauge("subledger_lag_seconds", help: "Lag.", reading: { 0.25 })
        #expect(
            registry.rendered() == """
                # HELP subledger_appended_total Appended.
                # TYPE subledger_appended_total counter
                subledger_appended_total{kind="purchased"} 1
                subledger_appended_total{kind="renewed"} 2
                # HELP subledger_head The last position.
                # TYPE subledger_head gauge
                subledger_head 4711
                # HELP subledger_lag_seconds Lag.
                # TYPE subledger_lag_seconds gauge
                subledger_lag_seconds 0.25

                """)
    }

    @Test("counts a value in the first bucket whose bound it does not exceed")
    func histogram() {
        let waits = registry.histogram(
            "subledger_wait_seconds", help: "Waits.", labels: ["of": "append"], buckets: [0.1, 1])
        waits.observe(0.1)
        waits.observe(.milliseconds(500))
        waits.observe(3.0)
        #expect(
            registry.rendered() == """
                # HELP subledger_wait_seconds Waits.
                # TYPE subledger_wait_seconds histogram
                subledger_wait_seconds_bucket{of="append",le="0.1"} 1
                subledger_wait_seconds_bucket{of="append",le="1"} 2
                subledger_wait_seconds_bucket{of="append",le="+Inf"} 3
                subledger_wait_seconds_sum{of="append"} 3.6
                subledger_wait_seconds_count{of="append"} 3

                """)
    }

    @Test("escapes help and label values as the format asks")
    func escapes() {
        registry.gauge("a", help: "one\n\"two\" \\", labels: ["b": "x\"y\\\n"]).set(.infinity)
        #expect(
            registry.rendered() == #"""
                # HELP a one\n"two" \\
                # TYPE a gauge
                a{b="x\"y\\\n"} +Inf

                """#)
    }

    @Test("gives the same metric to everybody who asks, and loses no count between threads")
    func concurrent() async {
        let registry = registry
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...8 {
                group.addTask {
                    let counter = registry.counter("a_total", help: "A.")
                    let gauge = registry.gauge("b", help: "B.")
                    let histogram = registry.histogram("c", help: "C.", buckets: [1])
                    for _ in 1...1_000 {
                        counter.add(1)
                        gauge.add(0.5)
                        histogram.observe(1.0)
                    }
                }
            }
        }
        #expect(registry.counter("a_total", help: "A.").value == 8_000)
        #expect(registry.gauge("b", help: "B.").value == 4_000)
        #expect(registry.rendered().contains("c_bucket{le=\"1\"} 8000\n"))
    }

    @Test("refuses one name for two types")
    func types() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricRegistry()
            _ = registry.counter("a", help: "A.")
            _ = registry.gauge("a", help: "A.")
        }
    }
}
