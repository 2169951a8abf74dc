internal import Glibc

/// Where PostgreSQL's server programs are.
struct ServerPrograms: Sendable {
    let directory: String

    var initdb: String { directory + "/initdb" }
    var postgres: String { directory + "/postgres" }

    /// The programs of a version, or of the highest one installed.
    ///
    /// - Parameter version: the major version that existing data needs.
    init(version: Int?) throws(ClusterError) {
        let root = "/usr/lib/postgresql"
        let installed = Files.names(in: root).compactMap(Int.init).sorted().reversed()
        let found = installed.first { candidate in
            (version == nil || candidate == version)
                && Self.isComplete("\(root)/\(candidate)/bin")
        }
        if let found {
            directory = "\(root)/\(found)/bin"
        } else if version == nil, let onPath = Self.onPath() {
            directory = onPath
        } else {
            throw .programsMissing(
                version.map { "the data needs version \($0)" } ?? "not in \(root), not on PATH")
        }
    }

    private static func onPath() -> String? {
        guard let path = getenv("PATH") else { return nil }
        return String(cString: path).split(separator: ":").map(String.init).first(where: isComplete)
    }

    private static func isComplete(_ directory: String) -> Bool {
        ["initdb", "postgres"].allSatisfy { access("\(directory)/\($0)", X_OK) == 0 }
    }
}
