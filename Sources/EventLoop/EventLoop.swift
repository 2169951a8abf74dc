internal import CUV
internal import Glibc
internal import Synchronization

/// One libuv loop on one thread, which is the serial and the task executor of what runs on it.
///
/// A turn is: timers that are due, a bounded batch of jobs, what was asked for with
/// `atEndOfTurn`, then a wait for file descriptors. The thread keeps the loop alive until `stop`.
///
/// - Shape: members that say so may be called on the loop's own thread only, which is checked.
public final class EventLoop: SerialExecutor, TaskExecutor {
    /// What the thread is called in debuggers and process lists.
    ///
    /// - Shape: the system keeps its first 15 bytes.
    public let name: String

    /// What other threads hand over.
    private struct Inbox {
        var work: [Work] = []
        var isWoken = false
        var isStopping = false
        var isOpen = true
    }

    private let inbox = Mutex(Inbox())
    /// The loop's `pthread_t` while its thread runs, else 0.
    private let thread = Atomic<UInt>(0)
    /// `nonisolated(unsafe)` holds because only the loop's thread touches it once `init` has started
    /// that, but for `wakeUp`: a constant that libuv lets any thread signal, and that is signalled
    /// within the inbox's lock while the inbox is open, before the thread closes it.
    nonisolated(unsafe) let core: Core

    /// Makes a loop and starts its thread, which runs until `stop`.
    public init(name: String) {
        self.name = name
        core = Core()
        core.onTurn = { [unowned self] in turn() }
        // The thread owns this reference and gives it back when it ends.
        let reference = Unmanaged.passRetained(self)
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        var identity = pthread_t()
        let code = pthread_create(
            &identity, &attributes,
            { argument in
                guard let argument else { return nil }
                let loop = Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue()
                loop.run()
                return nil
            },
            reference.toOpaque())
        precondition(code == 0, "a thread for the loop could not be started: errno \(code)")
        pthread_attr_destroy(&attributes)
    }

    /// Whether the caller runs on the loop's thread.
    public var isCurrent: Bool {
        thread.load(ordering: .relaxed) == pthread_self()
    }

    /// Takes a job from any thread; it runs in the order of arrival.
    ///
    /// - Shape: a loop that has stopped drops it, and its task never continues.
    public func enqueue(_ job: consuming ExecutorJob) {
        submit(.job(UnownedJob(job)))
    }

    /// Traps when the caller does not run on the loop.
    public func checkIsolated() {
        preconditionOnLoop()
    }

    /// Says without trapping whether the caller runs on the loop.
    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Runs a body on the loop, after what was enqueued before; never within the call.
    ///
    /// - Shape: from any thread; a loop that has stopped drops it and answers false.
    @discardableResult
    public func execute(_ body: @escaping @Sendable () -> Void) -> Bool {
        submit(.body(body))
    }

    /// Runs a body once, after the batch of jobs and callbacks of this turn and before the loop
    /// waits; one that is added by such a body runs in the next turn.
    ///
    /// - Shape: on the loop only.
    public func atEndOfTurn(_ body: @escaping () -> Void) {
        preconditionOnLoop()
        core.endOfTurn.append(body)
    }

    /// When the current turn began, on a clock that never goes back.
    ///
    /// - Shape: on the loop only; it stands still during a turn.
    /// - Units: milliseconds since some moment in the past.
    public var nowMilliseconds: UInt64 {
        preconditionOnLoop()
        return uv_now(core.loop)
    }

    /// Ends the thread once nothing is left to run; sleepers are woken with `CancellationError`,
    /// watches, timers and signals end without a last call.
    ///
    /// - Shape: from any thread, more than once; it does not wait.
    public func stop() {
        inbox.withLock { inbox in
            guard inbox.isOpen else { return }
            inbox.isStopping = true
            uv_async_send(core.wakeUp)
        }
    }

    func preconditionOnLoop() {
        precondition(isCurrent, "this runs on the thread of the loop \(name) only")
    }

    /// Takes work from any thread, unless the loop has stopped.
    @discardableResult
    func submit(_ work: Work) -> Bool {
        if isCurrent {
            guard core.isOpen else { return false }
            core.queue.append(work)
            return true
        }
        return inbox.withLock { inbox in
            guard inbox.isOpen else { return false }
            inbox.work.append(work)
            if !inbox.isWoken {
                inbox.isWoken = true
                // Within the lock, so that the handle is not closed meanwhile.
                uv_async_send(core.wakeUp)
            }
            return true
        }
    }
}

// The thread's own side.
extension EventLoop {
    private func run() {
        if let file = fopen("/proc/thread-self/comm", "w") {
            fputs(name, file)
            fclose(file)
        }
        thread.store(pthread_self(), ordering: .relaxed)
        repeat { uv_run(core.loop, UV_RUN_DEFAULT) } while !closeInbox()
        core.close()
        thread.store(0, ordering: .relaxed)
    }

    /// Refuses further work, unless some arrived since the last turn.
    private func closeInbox() -> Bool {
        inbox.withLock { inbox in
            guard inbox.work.isEmpty else { return false }
            inbox.isOpen = false
            return true
        }
    }

    /// One turn's jobs; libuv calls this before it waits.
    private func turn() {
        let isStopping = inbox.withLock { inbox in
            inbox.isWoken = false
            if !inbox.work.isEmpty {
                core.queue.append(contentsOf: inbox.work)
                inbox.work.removeAll(keepingCapacity: inbox.work.count <= 4_096)
            }
            return inbox.isStopping
        }
        if isStopping { core.wakeSleepers() }
        let serial = asUnownedSerialExecutor()
        let task = asUnownedTaskExecutor()
        var left = Core.jobsPerTurn
        while left > 0, let work = core.queue.popFirst() {
            left -= 1
            switch work {
            case .job(let job): job.runSynchronously(isolatedTo: serial, taskExecutor: task)
            case .body(let body): body()
            }
        }
        core.runEndOfTurn()
        let hasWork = !core.queue.isEmpty || !core.endOfTurn.isEmpty
        core.waits(!hasWork)
        if isStopping && !hasWork { uv_stop(core.loop) }
    }
}
