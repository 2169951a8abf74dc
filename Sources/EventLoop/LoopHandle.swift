internal import CUV

/// A libuv handle and its memory, kept alive by the loop until closed.
class LoopHandle {
    let loop: EventLoop
    private var pointer: UnsafeMutablePointer<uv_handle_t>?

    /// Takes over an initialised handle.
    init<T>(_ handle: UnsafeMutablePointer<T>, of loop: EventLoop) {
        self.loop = loop
        let pointer = Core.handle(handle)
        self.pointer = pointer
        uv_handle_set_data(pointer, Unmanaged.passRetained(self).toOpaque())
    }

    /// The handle as what it is, until closed.
    func handle<T>(as type: T.Type) -> UnsafeMutablePointer<T>? {
        guard let pointer else { return nil }
        return UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: type)
    }

    var isClosed: Bool { pointer == nil }

    /// Ends it; the memory is freed when libuv has let go of it.
    func close() {
        guard let pointer else { return }
        self.pointer = nil
        uv_close(pointer) { handle in
            guard let handle, let data = uv_handle_get_data(handle) else { return }
            Unmanaged<LoopHandle>.fromOpaque(data).release()
            UnsafeMutableRawPointer(handle).deallocate()
        }
    }

    /// The object behind a handle that libuv calls back for; each callback knows its own kind.
    static func object<T, Object: LoopHandle>(
        behind handle: UnsafeMutablePointer<T>?, as type: Object.Type
    ) -> Object? {
        guard let handle, let data = uv_handle_get_data(Core.handle(handle)) else { return nil }
        let object = Unmanaged<LoopHandle>.fromOpaque(data).takeUnretainedValue()
        return unsafeDowncast(object, to: Object.self)
    }
}
