import EventLoop
import Glibc
import Synchronization
import Testing

/// An actor that lives on a loop.
private actor Resident {
    let loop: EventLoop
    var visits = 0

    init(on loop: EventLoop) {
        self.loop = loop
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        loop.asUnownedSerialExecutor()
    }

    func visit() -> Bool {
        visits += 1
        return loop.isCurrent
    }
}

/// Runs a body on a loop and waits for what it answers.
@discardableResult
private func on<T: Sendable>(
    _ loop: EventLoop, _ body: @escaping @Sendable () -> T
) async -> T {
    await withCheckedContinuation { continuation in
        loop.execute { continuation.resume(returning: body()) }
    }
}

/// Two ends of a stream socket.
private func socketPair() -> (Int32, Int32) {
    var ends: [Int32] = [0, 0]
    let code = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    precondition(code == 0)
    return (ends[0], ends[1])
}

@Suite("An event loop")
struct EventLoopTests {
    let loop = EventLoop(name: "tested")

    @Test("runs a task that prefers it on its own thread, before and after a suspension")
    func taskExecutor() async {
        let loop = loop
        #expect(!loop.isCurrent)
        let seen = await Task(executorPreference: loop) {
            let before = loop.isCurrent
            await Task.yield()
            return [before, loop.isCurrent]
        }.value
        #expect(seen == [true, true])
        loop.stop()
    }

    @Test("runs an actor pinned to it, called from anywhere")
    func serialExecutor() async {
        let resident = Resident(on: loop)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<1_000 { group.addTask { await resident.visit() } }
            for await isOnLoop in group { #expect(isOnLoop) }
        }
        #expect(await resident.visits == 1_000)
        loop.stop()
    }

    @Test("lets a preferring task call a pinned actor without leaving its thread")
    func both() async {
        let loop = loop
        let resident = Resident(on: loop)
        let seen = await Task(executorPreference: loop) {
            let inside = await resident.visit()
            return [inside, loop.isCurrent]
        }.value
        #expect(seen == [true, true])
        loop.stop()
    }

    @Test("runs bodies in the order of arrival, never within the call")
    func order() async {
        let loop = loop
        let order = await withCheckedContinuation { continuation in
            loop.execute {
                let log = Log()
                loop.execute {
                    log.add("second")
                    continuation.resume(returning: log.lines)
                }
                log.add("first")
            }
        }
        #expect(order == ["first", "second"])
        loop.stop()
    }

    @Test("gives descriptors and timers a turn while jobs keep enqueuing jobs")
    func noStarvation() async {
        let loop = loop
        let (left, right) = socketPair()
        let hasEnded = Atomic(false)
        @Sendable func again() {
            loop.execute { if !hasEnded.load(ordering: .relaxed) { again() } }
        }
        again()
        let byte: UInt8 = await withCheckedContinuation { continuation in
            loop.execute {
                let box = Box<Watch>()
                box.value = loop.watch(left, .readable) { _, _ in
                    var byte: UInt8 = 0
                    read(left, &byte, 1)
                    box.value?.stop()
                    loop.schedule(after: .milliseconds(1)) { continuation.resume(returning: byte) }
                }
                var sent: UInt8 = 7
                write(right, &sent, 1)
            }
        }
        #expect(byte == 7)
        hasEnded.store(true, ordering: .relaxed)
        loop.stop()
        close(left)
        close(right)
    }

    @Test("runs what was asked for at the end of a turn once, after the jobs of that turn")
    func endOfTurn() async {
        let loop = loop
        let log = Log()
        await on(loop) {
            loop.atEndOfTurn { log.add("end") }
            loop.execute { log.add("job") }
        }
        await on(loop) { loop.execute { log.add("later") } }
        await on(loop) {}
        #expect(log.lines == ["job", "end", "later"])
        loop.stop()
    }

    @Test("calls an end of turn asked for by a timer or by another end of turn")
    func endOfTurnElsewhere() async {
        let loop = loop
        await withCheckedContinuation { continuation in
            loop.execute {
                loop.schedule(after: .zero) {
                    loop.atEndOfTurn { loop.atEndOfTurn { continuation.resume() } }
                }
            }
        }
        loop.stop()
    }

    @Test("watches for what is asked, and not for more")
    func watch() async {
        let loop = loop
        let (left, right) = socketPair()
        let ready = await withCheckedContinuation { continuation in
            loop.execute {
                let box = Box<Watch>()
                let log = Log()
                box.value = loop.watch(left, .readable) { ready, error in
                    log.add("\(ready.rawValue) \(error)")
                    guard log.lines.count < 2 else {
                        box.value?.stop()
                        continuation.resume(returning: log.lines)
                        return
                    }
                    box.value?.update(.writable)
                }
                var byte: UInt8 = 1
                write(right, &byte, 1)
            }
        }
        #expect(ready == ["1 0", "2 0"])
        loop.stop()
        close(left)
        close(right)
    }

    @Test("repeats a timer until it is cancelled")
    func repeating() async {
        let loop = loop
        let count = await withCheckedContinuation { continuation in
            loop.execute {
                let box = Box<EventLoop.Timer>()
                let log = Log()
                box.value = loop.schedule(after: .zero, repeating: .milliseconds(1)) {
                    log.add("tick")
                    guard log.lines.count == 3 else { return }
                    box.value?.cancel()
                    loop.schedule(after: .milliseconds(5)) {
                        continuation.resume(returning: log.lines.count)
                    }
                }
            }
        }
        #expect(count == 3)
        loop.stop()
    }

    @Test("sleeps no shorter than asked, and ends a sleep when the task is cancelled")
    func sleep() async throws {
        let loop = loop
        let start = ContinuousClock.now
        try await loop.sleep(for: .milliseconds(20))
        #expect(ContinuousClock.now - start >= .milliseconds(20))
        let sleeping = Task { try await loop.sleep(for: .seconds(3_600)) }
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
        loop.stop()
    }

    @Test("runs what it has taken before it stops, and wakes sleepers with an error")
    func stops() async {
        let loop = loop
        let count = Atomic(0)
        let asleep = await withCheckedContinuation {
            (ready: CheckedContinuation<Task<Void, any Error>, Never>) in
            let task = Task(executorPreference: loop) {
                try await loop.sleep(for: .seconds(3_600))
            }
            loop.execute { ready.resume(returning: task) }
        }
        for _ in 0..<10_000 { loop.execute { count.add(1, ordering: .relaxed) } }
        loop.stop()
        await #expect(throws: CancellationError.self) { try await asleep.value }
        #expect(count.load(ordering: .relaxed) == 10_000)
        await #expect(throws: CancellationError.self) { try await loop.sleep(for: .zero) }
    }

    @Test("hands a signal to its handler")
    func signal() async {
        let loop = loop
        let received = await withCheckedContinuation { continuation in
            EventLoop.onSignal([SIGUSR2], on: loop) { continuation.resume(returning: $0) }
            loop.execute { kill(getpid(), SIGUSR2) }
        }
        #expect(received == SIGUSR2)
        loop.stop()
    }
}

/// What happened, in order, from any thread.
private final class Log: Sendable {
    private let entries = Mutex<[String]>([])

    var lines: [String] { entries.withLock { $0 } }

    func add(_ line: String) {
        entries.withLock { $0.append(line) }
    }
}

/// A place for what a closure needs and is made with it.
private final class Box<T> {
    var value: T?
}
