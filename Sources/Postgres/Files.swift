internal import Glibc

/// The few file operations the embedded server needs.
enum Files {
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The names in a directory; none when it cannot be read.
    static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }

    /// A small file's text, `nil` when it cannot be read; of a larger one the last 4 KB.
    static func text(of path: String, after start: Int64 = 0) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let end = Int64(lseek(descriptor, 0, SEEK_END))
        lseek(descriptor, off_t(end > 0 ? max(start, end - 4_096) : 0), SEEK_SET)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var kept: [UInt8] = []
        while kept.count < 4_096 {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            kept += buffer[..<count]
        }
        return String(decoding: kept, as: UTF8.self)
    }

    static func size(of path: String) -> Int64 {
        var entry = stat()
        return stat(path, &entry) == 0 ? Int64(entry.st_size) : 0
    }

    /// Makes the directory with mode 0700 if it is not there, and gives it to the user.
    static func makeDirectory(_ path: String, for user: ClusterUser) throws(ClusterError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path) }
        var entry = stat()
        guard stat(path, &entry) == 0 else { throw failure(path) }
        guard entry.st_mode & S_IFMT == S_IFDIR else {
            throw .file(path: path, reason: "is not a directory")
        }
        guard entry.st_uid != user.user else { return }
        guard geteuid() == 0, names(in: path).isEmpty else {
            throw .file(path: path, reason: "belongs to another user than \(user.name)")
        }
        guard chown(path, user.user, user.group) == 0, chmod(path, 0o700) == 0 else {
            throw failure(path)
        }
    }

    /// Writes the text so that it is on disk afterwards; appends when asked to.
    static func write(
        _ text: String, to path: String, appending: Bool = false
    ) throws(ClusterError) {
        let end = appending ? O_APPEND : O_TRUNC
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | end, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0
        else { throw failure(path) }
    }

    /// Renames a file or directory so that the new name is on disk afterwards.
    static func rename(_ path: String, to new: String, in directory: String) throws(ClusterError) {
        guard Glibc.rename(path, new) == 0 else { throw failure(path) }
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure(directory) }
    }

    static func failure(_ path: String) -> ClusterError {
        .file(path: path, reason: errorText(errno))
    }
}
