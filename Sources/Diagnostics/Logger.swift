import Synchronization

/// Writes log lines to one sink, holding back what repeats.
public final class Logger: Sendable {
    private let sink: any LogSink
    private let clock: @Sendable () -> WallTime
    private let minimum = Mutex(LogLevel.info)
    private let limiter = Mutex(RepeatLimiter())

    /// A log that writes to this sink, dated by this clock.
    public init(sink: any LogSink, clock: @escaping @Sendable () -> WallTime = WallTime.now) {
        self.sink = sink
        self.clock = clock
    }

    /// Leaves out whatever is below this level from now on.
    public func setMinimum(_ level: LogLevel) {
        minimum.withLock { $0 = level }
    }

    /// Whether a line of this level would be written.
    public func writes(_ level: LogLevel) -> Bool {
        minimum.withLock { level >= $0 }
    }

    /// Writes one line, unless its level is left out or the same line was written too often lately.
    public func write(_ level: LogLevel, _ message: String, _ fields: LogFields = [:]) {
        guard writes(level) else { return }
        let time = clock()
        let body = LogLine.body(level, message, fields)
        let admitted = limiter.withLock { $0.admit(body, atSecond: time.seconds) }
        for line in admitted {
            sink.write(LogLine.line(time: time, body: line.body, repeated: line.repeated))
        }
    }
}

/// Where finished lines go.
public protocol LogSink: Sendable {
    /// Takes one line without its newline; never throws and never waits for long.
    func write(_ line: String)
}
