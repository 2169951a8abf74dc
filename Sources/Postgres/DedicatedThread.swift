internal import Glibc
internal import Synchronization

/// A thread that runs the jobs of one actor, which may block in them.
///
/// The thread ends when the executor and its last job are gone.
final class DedicatedThread: SerialExecutor {
    private let mailbox = Mailbox()

    init(name: String) {
        let body = Unmanaged.passRetained(Start(mailbox: mailbox, name: name))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Start>.fromOpaque(context).takeRetainedValue()
                if let file = fopen("/proc/thread-self/comm", "w") {
                    fputs(start.name, file)
                    fclose(file)
                }
                start.mailbox.run()
                return nil
            }, body.toOpaque())
        precondition(status == 0, "the system refuses another thread: \(errorText(status))")
        pthread_detach(thread)
    }

    deinit { mailbox.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        // The entry keeps the executor, so that it outlives the job that drops the actor.
        mailbox.add(Mailbox.Entry(job: UnownedJob(job), executor: self))
    }

    func isIsolatingCurrentContext() -> Bool? { mailbox.isCurrentThread }

    func checkIsolated() {
        precondition(mailbox.isCurrentThread, "not on the connection's thread")
    }

    private final class Start {
        let mailbox: Mailbox
        let name: String

        init(mailbox: Mailbox, name: String) {
            self.mailbox = mailbox
            self.name = name
        }
    }
}

/// The jobs that wait for a thread.
///
/// `@unchecked` holds because the semaphore is made to be used from several threads, and all
/// else is behind the mutex.
private final class Mailbox: @unchecked Sendable {
    struct Entry {
        let job: UnownedJob
        let executor: DedicatedThread
    }

    private struct State {
        var entries: [Entry] = []
        var isClosed = false
        var thread: pthread_t?
    }

    private let state = Mutex(State())
    private let filled = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(filled, 0, 0) }

    deinit {
        sem_destroy(filled)
        filled.deallocate()
    }

    var isCurrentThread: Bool {
        state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    func add(_ entry: Entry) {
        state.withLock { $0.entries.append(entry) }
        sem_post(filled)
    }

    func close() {
        state.withLock { $0.isClosed = true }
        sem_post(filled)
    }

    func run() {
        state.withLock { $0.thread = pthread_self() }
        while true {
            let (entries, isClosed) = state.withLock { state in
                defer { state.entries = [] }
                return (state.entries, state.isClosed)
            }
            for entry in entries {
                entry.job.runSynchronously(on: entry.executor.asUnownedSerialExecutor())
            }
            if entries.isEmpty {
                if isClosed { return }
                sem_wait(filled)
            }
        }
    }
}

/// The system's words for an error number.
func errorText(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
}
