import COpenSSL

/// Reads and writes through libcrypto's memory buffers.
enum Memory {
    /// Runs a reader over bytes.
    static func read<Result>(_ bytes: [UInt8], _ reader: (OpaquePointer) -> Result?) -> Result? {
        guard bytes.count <= Int(Int32.max) else { return nil }
        return bytes.withUnsafeBytes { memory in
            guard let buffer = BIO_new_mem_buf(memory.baseAddress, Int32(memory.count)) else {
                return nil
            }
            defer {
                BIO_free(buffer)
                // A refusal leaves a note in this thread's error queue that nobody reads.
                ERR_clear_error()
            }
            return reader(buffer)
        }
    }

    /// What a writer wrote.
    ///
    /// - Shape: `nil` when the writer did not answer success.
    static func written(_ writer: (OpaquePointer) -> Int32) -> [UInt8]? {
        guard let buffer = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(buffer) }
        guard writer(buffer) > 0 else {
            ERR_clear_error()
            return nil
        }
        var bytes: [UInt8] = []
        while true {
            var chunk = [UInt8](repeating: 0, count: 4_096)
            let count = BIO_read(buffer, &chunk, Int32(chunk.count))
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(Int(count))
        }
    }
}
