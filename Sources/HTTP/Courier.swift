internal import CCurl
internal import Glibc
internal import Synchronization

/// The thread of a client, and what others hand to it.
///
/// `@unchecked` holds because the handle is made before any other thread sees it and
/// only `curl_multi_wakeup`, which any thread may call, is used off the courier's own thread; the
/// transfers are touched on that thread alone; all else is behind the mutex.
final class Courier: @unchecked Sendable {
    typealias Continuation = CheckedContinuation<Result<Client.Answer, ClientError>, Never>

    private struct State {
        var waiting: [(errand: Errand, continuation: Continuation)] = []
        var cancelled: Set<ObjectIdentifier> = []
        /// Errands that are not answered yet, waiting or under way.
        var open: Set<ObjectIdentifier> = []
        var isStopping = false
    }

    private let limits: Client.Limits
    private let authorities: String?
    private let state = Mutex(State())
    private let multi: UnsafeMutableRawPointer
    private var transfers: [UnsafeMutableRawPointer: Transfer] = [:]

    /// libcurl wants to be told once, before any other thread uses it.
    private static let library: Void = {
        let code = curl_global_init(Int(CURL_GLOBAL_SSL))
        precondition(code == CURLE_OK, "libcurl does not start: \(code.rawValue)")
    }()

    init(limits: Client.Limits, authorities: String?) {
        precondition(limits.underWay > 0 && limits.waiting > 0, "a client asks at least once")
        Courier.library
        guard let multi = curl_multi_init() else { preconditionFailure("no memory for a client") }
        self.multi = multi
        self.limits = limits
        self.authorities = authorities
    }

    deinit { curl_multi_cleanup(multi) }

    /// Starts the thread, which keeps the courier until it is stopped.
    func start() {
        let reference = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                if let file = fopen("/proc/thread-self/comm", "w") {
                    fputs("courier", file)
                    fclose(file)
                }
                Unmanaged<Courier>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, reference.toOpaque())
        precondition(code == 0, "a thread for a client could not be started: errno \(code)")
        pthread_detach(thread)
    }

    /// Ends the thread once nobody is waiting any more.
    func stop() {
        state.withLock { $0.isStopping = true }
        curl_multi_wakeup(multi)
    }

    func take(_ errand: Errand, _ continuation: Continuation) {
        let refusal = state.withLock { state -> ClientError? in
            if state.cancelled.remove(ObjectIdentifier(errand)) != nil { return .cancelled }
            guard state.waiting.count < limits.waiting else {
                errand.isAnswered.store(true, ordering: .relaxed)
                return .busy
            }
            state.open.insert(ObjectIdentifier(errand))
            state.waiting.append((errand, continuation))
            return nil
        }
        if let refusal {
            continuation.resume(returning: .failure(refusal))
        } else {
            curl_multi_wakeup(multi)
        }
    }

    /// Ends an errand early; one that has not been taken yet is refused when it is.
    func cancel(_ errand: Errand) {
        state.withLock { state in
            guard !errand.isAnswered.load(ordering: .relaxed) else { return }
            state.cancelled.insert(ObjectIdentifier(errand))
        }
        curl_multi_wakeup(multi)
    }
}

// The thread's own side.
extension Courier {
    private func run() {
        while true {
            if state.withLock({ $0.isStopping && $0.open.isEmpty }) { return }
            endCancelled()
            endOverdue()
            begin()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            let ended = endFinished()
            if ended == 0 { curl_multi_poll(multi, nil, 0, pollTime, nil) }
        }
    }

    /// What waits for a turn may be overdue before anything is heard. Units: milliseconds.
    private var pollTime: Int32 {
        state.withLock { $0.waiting.isEmpty } ? 1_000 : 50
    }

    private func begin() {
        while transfers.count < limits.underWay {
            let next = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            guard let next else { return }
            do throws(ClientError) {
                let transfer = try Transfer(
                    next.errand, next.continuation, limits: limits, authorities: authorities)
                curl_multi_add_handle(multi, transfer.handle)
                transfers[transfer.handle] = transfer
            } catch {
                answer(next.errand, next.continuation, .failure(error))
            }
        }
    }

    private func endCancelled() {
        let (cancelled, waiting) = state.withLock { state in
            let cancelled = state.cancelled.intersection(state.open)
            guard !cancelled.isEmpty else {
                return (cancelled, [(errand: Errand, continuation: Continuation)]())
            }
            state.cancelled.subtract(cancelled)
            let ended = state.waiting.filter { cancelled.contains(ObjectIdentifier($0.errand)) }
            state.waiting.removeAll { cancelled.contains(ObjectIdentifier($0.errand)) }
            return (cancelled, ended)
        }
        for (errand, continuation) in waiting {
            answer(errand, continuation, .failure(.cancelled))
        }
        guard !cancelled.isEmpty else { return }
        for transfer in transfers.values
        where cancelled.contains(ObjectIdentifier(transfer.errand)) {
            end(transfer, .failure(.cancelled))
        }
    }

    private func endOverdue() {
        let now = ContinuousClock.now
        let overdue = state.withLock { state in
            let overdue = state.waiting.filter { $0.errand.deadline <= now }
            if !overdue.isEmpty { state.waiting.removeAll { $0.errand.deadline <= now } }
            return overdue
        }
        for (errand, continuation) in overdue {
            answer(errand, continuation, .failure(.timedOut))
        }
    }

    /// Answers what libcurl is done with; how many there were.
    private func endFinished() -> Int {
        var count = 0
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let transfer = transfers[handle]
            else { continue }
            end(transfer, transfer.result(message.pointee.data.result))
            count += 1
        }
        return count
    }

    private func end(_ transfer: Transfer, _ result: Result<Client.Answer, ClientError>) {
        curl_multi_remove_handle(multi, transfer.handle)
        transfers[transfer.handle] = nil
        answer(transfer.errand, transfer.continuation, result)
    }

    private func answer(
        _ errand: Errand, _ continuation: Continuation,
        _ result: Result<Client.Answer, ClientError>
    ) {
        state.withLock { state in
            errand.isAnswered.store(true, ordering: .relaxed)
            state.open.remove(ObjectIdentifier(errand))
            state.cancelled.remove(ObjectIdentifier(errand))
        }
        continuation.resume(returning: result)
    }
}
