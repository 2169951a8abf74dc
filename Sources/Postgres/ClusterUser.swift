internal import Glibc

/// The operating system's user as whom the server runs.
struct ClusterUser: Sendable {
    let name: String
    let user: uid_t
    let group: gid_t
    /// Programs run as this user need this in front.
    let prefix: [String]

    /// Ourselves, or the user `postgres` when we are root.
    init() throws(ClusterError) {
        let own = geteuid()
        guard own == 0 else {
            name = Self.name(of: own) ?? "\(own)"
            user = own
            group = getegid()
            prefix = []
            return
        }
        guard let entry = getpwnam("postgres")?.pointee, entry.pw_uid != 0 else {
            throw .noUnprivilegedUser("postgres")
        }
        name = "postgres"
        user = entry.pw_uid
        group = entry.pw_gid
        prefix = [
            "/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--",
        ]
    }

    /// The name of a user, if it has one.
    static func name(of user: uid_t) -> String? {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) }
    }

    /// The first directory above `path` that this user may not enter.
    func closedDirectory(above path: String) -> String? {
        guard !prefix.isEmpty else { return nil }
        var parent = ""
        for part in path.split(separator: "/").dropLast() {
            parent += "/" + part
            var entry = stat()
            guard stat(parent, &entry) == 0 else { return parent }
            let bit: mode_t =
                entry.st_uid == user ? S_IXUSR : entry.st_gid == group ? S_IXGRP : S_IXOTH
            if entry.st_mode & bit == 0 { return parent }
        }
        return nil
    }
}
