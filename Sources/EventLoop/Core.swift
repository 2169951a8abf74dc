internal import CUV

/// What one loop consists of; its thread alone touches it, and others signal `wakeUp`.
final class Core {
    /// Descriptors and timers get their turn after so many jobs.
    static let jobsPerTurn = 512

    let loop = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
    let wakeUp = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
    private let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
    private let idle = UnsafeMutablePointer<uv_idle_t>.allocate(capacity: 1)
    private var isIdleActive = false

    var queue = WorkQueue()
    var endOfTurn: [() -> Void] = []
    var sleeps: [ObjectIdentifier: Sleep] = [:]
    var onTurn: () -> Void = {}
    private(set) var isOpen = true

    init() {
        precondition(uv_loop_init(loop) == 0, "libuv could not make a loop")
        precondition(uv_async_init(loop, wakeUp, { _ in }) == 0, "libuv could not make a wake-up")
        uv_idle_init(loop, idle)
        uv_prepare_init(loop, prepare)
        uv_handle_set_data(Self.handle(wakeUp), nil)
        uv_handle_set_data(Self.handle(idle), nil)
        uv_handle_set_data(Self.handle(prepare), nil)
        uv_loop_set_data(loop, Unmanaged.passUnretained(self).toOpaque())
        // Preparing comes after the timers and before the wait, whose length is chosen after it.
        uv_prepare_start(prepare) { prepare in
            guard let prepare, let data = uv_loop_get_data(prepare.pointee.loop) else { return }
            Unmanaged<Core>.fromOpaque(data).takeUnretainedValue().onTurn()
        }
    }

    /// Any handle as libuv's base type.
    static func handle<T>(_ pointer: UnsafeMutablePointer<T>) -> UnsafeMutablePointer<uv_handle_t> {
        UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: uv_handle_t.self)
    }

    /// Whether the loop may wait for descriptors, or only looks at them.
    func waits(_ waits: Bool) {
        guard waits == isIdleActive else { return }
        isIdleActive = !waits
        if waits {
            uv_idle_stop(idle)
        } else {
            // An active idle handle makes libuv poll without waiting.
            uv_idle_start(idle) { _ in }
        }
    }

    func runEndOfTurn() {
        guard !endOfTurn.isEmpty else { return }
        let bodies = endOfTurn
        endOfTurn = []
        for body in bodies { body() }
    }

    func wakeSleepers() {
        for sleeper in Array(sleeps.keys) { endSleep(sleeper, slept: false) }
    }

    /// Closes every handle and frees the loop.
    func close() {
        isOpen = false
        uv_prepare_stop(prepare)
        uv_walk(
            loop,
            { handle, _ in
                guard let handle, uv_is_closing(handle) == 0 else { return }
                if let data = uv_handle_get_data(handle) {
                    Unmanaged<LoopHandle>.fromOpaque(data).takeUnretainedValue().close()
                } else {
                    uv_close(handle, nil)
                }
            }, nil)
        while uv_run(loop, UV_RUN_DEFAULT) != 0 {}
        let code = uv_loop_close(loop)
        precondition(code == 0, "a handle of the loop stayed open")
        loop.deallocate()
        wakeUp.deallocate()
        prepare.deallocate()
        idle.deallocate()
    }
}
