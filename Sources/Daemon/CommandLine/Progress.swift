import Glibc
import Synchronization

/// Tells a waiting person how far a long command is, on standard error.
///
/// On a terminal it is one line that is rewritten, from the first second on; elsewhere one plain line
/// every 10 s. Ask `advance` as often as you like.
final class Progress: Sendable {
    private struct State {
        var meter: ProgressMeter
        var toldAtSeconds: Double = 0
        var told = false
    }

    private let state: Mutex<State>
    private let started = ContinuousClock.now
    private let isTerminal: Bool
    private let write: @Sendable (String) -> Void

    /// Progress of so many things; nil when nobody knows how many.
    init(
        _ label: String, of total: Int64? = nil, unit: String = "entries",
        isTerminal: Bool = isatty(STDERR_FILENO) == 1,
        write: @escaping @Sendable (String) -> Void = { Progress.writeToStandardError($0) }
    ) {
        state = Mutex(State(meter: ProgressMeter(label: label, total: total, unit: unit)))
        self.isTerminal = isTerminal
        self.write = write
    }

    /// So many more are done.
    func advance(by number: Int64 = 1) {
        let elapsed = elapsedSeconds
        state.withLock { state in
            state.meter.done += number
            let wait = isTerminal ? (state.told ? 0.2 : 1) : 10
            guard elapsed - state.toldAtSeconds >= wait else { return }
            state.toldAtSeconds = elapsed
            state.told = true
            let text = state.meter.text(afterSeconds: elapsed)
            write(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
        }
    }

    /// Leaves the line that is there, brought up to date; silent when nothing was told yet.
    func finish() {
        let elapsed = elapsedSeconds
        state.withLock { state in
            guard state.told else { return }
            let text = state.meter.text(afterSeconds: elapsed)
            write(isTerminal ? "\r\u{1B}[K" + text + "\n" : text + "\n")
            state.told = false
        }
    }

    private var elapsedSeconds: Double {
        let (seconds, attoseconds) = (ContinuousClock.now - started).components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    @Sendable static func writeToStandardError(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
