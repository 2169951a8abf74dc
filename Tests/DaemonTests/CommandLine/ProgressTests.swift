import Synchronization
import Testing

@testable import Daemon

@Suite("Progress")
struct ProgressTests {
    @Test(
        "tells done, total, rate and time left",
        arguments: [
            (1_200, 5_000, 3.0, "import: 1,200 / 5,000 entries (24 %), 400/s, 10 s left"),
            (0, 5_000, 3.0, "import: 0 / 5,000 entries (0 %)"),
            (5_000, 5_000, 2.0, "import: 5,000 / 5,000 entries (100 %), 2,500/s, 0 s left"),
            (10, 1_000_000, 1.0, "import: 10 / 1,000,000 entries (0 %), 10/s, 27 h 46 min left"),
            (10, 1_000, 1.0, "import: 10 / 1,000 entries (1 %), 10/s, 1 min 39 s left"),
        ] as [(Int64, Int64, Double, String)])
    func text(done: Int64, total: Int64, seconds: Double, expected: String) {
        let meter = ProgressMeter(label: "import", total: total, unit: "entries", done: done)
        #expect(meter.text(afterSeconds: seconds) == expected)
    }

    @Test("without a total tells what is done and how fast")
    func unknownTotal() {
        let meter = ProgressMeter(label: "import", total: nil, unit: "lines", done: 1_500)
        #expect(meter.text(afterSeconds: 2) == "import: 1,500 lines, 750/s")
    }

    @Test("of a short command is silent")
    func short() {
        let written = Mutex(0)
        let progress = Progress("verify", of: 3, isTerminal: true) { _ in
            written.withLock { $0 += 1 }
        }
        progress.advance(by: 3)
        progress.finish()
        #expect(written.withLock { $0 } == 0)
    }
}
