/// Lets the first few of equal lines through and counts the others.
///
/// A line that repeats is written at most `burst` times in a window of `windowSeconds`; what was held
/// back is told once the window is over, with the next line that comes, whichever it is.
struct RepeatLimiter {
    struct Admitted: Equatable {
        var body: String
        /// Equal lines held back since the line was last written.
        var repeated: Int
    }

    private struct Window {
        var endsAtSecond: Int64
        var written: Int
        var held: Int
    }

    private let burst = 5
    private let windowSeconds: Int64 = 10
    private let most = 512
    private var windows: [String: Window] = [:]
    private var nextSweepAtSecond = Int64.min

    /// What is to be written now that this line has come.
    mutating func admit(_ body: String, atSecond second: Int64) -> [Admitted] {
        var admitted = second >= nextSweepAtSecond ? sweep(atSecond: second, but: body) : []
        var window =
            windows[body]
            ?? Window(endsAtSecond: second + windowSeconds, written: 0, held: 0)
        if second >= window.endsAtSecond {
            admitted.append(Admitted(body: body, repeated: window.held))
            window = Window(endsAtSecond: second + windowSeconds, written: 1, held: 0)
        } else if window.written < burst {
            admitted.append(Admitted(body: body, repeated: 0))
            window.written += 1
        } else {
            window.held += 1
        }
        if windows.count < most || windows[body] != nil { windows[body] = window }
        return admitted
    }

    private mutating func sweep(atSecond second: Int64, but body: String) -> [Admitted] {
        nextSweepAtSecond = second + windowSeconds
        let over = windows.filter { $0.value.endsAtSecond <= second && $0.key != body }
        for key in over.keys { windows[key] = nil }
        return over.filter { $0.value.held > 0 }
            .map { Admitted(body: $0.key, repeated: $0.value.held) }
            .sorted { $0.body < $1.body }
    }
}
