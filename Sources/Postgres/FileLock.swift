internal import Glibc

/// A lock on a file that ends with its holder, whatever kills it.
struct FileLock {
    enum Mode {
        case shared
        case exclusive
    }

    private let descriptor: Int32

    /// - Throws: the error number with which the file could not be opened.
    init(path: String) throws(Program.Failure) {
        descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Program.Failure(number: errno) }
    }

    /// Takes the lock if nobody is in the way; an attempt that fails gives up what was held.
    func take(_ mode: Mode) -> Bool {
        flock(descriptor, (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0
    }

    /// Takes the lock as soon as nobody is in the way.
    func take(_ mode: Mode, within limit: Duration) -> Bool {
        waitUntil(limit) { take(mode) }
    }

    /// Gives the lock back; the value may not be used afterwards.
    func close() { Glibc.close(descriptor) }
}

/// Asks again and again, every 10 ms, until the answer is yes or the time is over.
func waitUntil(_ limit: Duration, _ condition: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < deadline else { return false }
        usleep(10_000)
    }
    return true
}
