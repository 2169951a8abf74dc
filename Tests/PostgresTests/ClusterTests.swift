import Glibc
import Postgres
import Testing

/// A directory for one cluster, removed with it.
private func withDirectory(_ body: (String) async throws -> Void) async throws {
    var template = Array("/tmp/cluster-XXXXXX".utf8CString)
    #expect(mkdtemp(&template) != nil)
    let directory = String(
        decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Entered by the server's user when the tests run as root.
    chmod(directory, 0o755)
    defer { _ = run("rm", "-rf", directory) }
    try await body(directory)
}

private func run(_ arguments: String...) -> Int32 {
    var process = pid_t()
    let pointers = arguments.map { strdup($0) } + [nil]
    defer { pointers.forEach { free($0) } }
    guard posix_spawnp(&process, arguments[0], nil, nil, pointers, environ) == 0 else { return -1 }
    var status: Int32 = 0
    waitpid(process, &status, 0)
    return status
}

private func postmaster(in directory: String) throws -> pid_t {
    let file = try #require(fopen(directory + "/data/postmaster.pid", "r"))
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 32)
    fgets(&line, 32, file)
    return try #require(
        pid_t(
            String(
                decoding: line.prefix { $0 >= 0x30 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)))
}

/// Kills the server and waits until it is gone; the caller started it.
private func killPostmaster(in directory: String) throws {
    let process = try postmaster(in: directory)
    kill(process, SIGKILL)
    var status: Int32 = 0
    #expect(waitpid(process, &status, 0) == process)
}

private func answer(of cluster: Cluster) async throws -> Int64 {
    let connection = try await BlockingConnection.open(cluster.connectionString)
    return try await connection.query("select 42::bigint").only().int8(0)
}

@Suite("An embedded cluster", .serialized)
struct ClusterTests {
    @Test("is made, answers, is joined by the second user and stopped by the last")
    func sharing() async throws {
        try await withDirectory { directory in
            let first = try Cluster.open(directory: directory + "/db")
            let process = try postmaster(in: directory + "/db")
            let second = try Cluster.open(directory: directory + "/db")
            #expect(try postmaster(in: directory + "/db") == process)

            first.release()
            #expect(second.isAlive)
            #expect(try await answer(of: second) == 42)

            second.release()
            #expect(!second.isAlive)
            #expect(kill(process, 0) != 0)

            let third = try Cluster.open(directory: directory + "/db")
            #expect(try await answer(of: third) == 42)
        }
    }

    @Test("is made although the child of a killed process still writes where it was being made")
    func halfMade() async throws {
        try await withDirectory { directory in
            let left = directory + "/db/data.new.1"
            let words = ["sh", "-c", "while :; do mkdir -p \(left)/base/$((n += 1)); done"]
            // Made once, so that the folder is the server's user's.
            try Cluster.open(directory: directory + "/db").release()
            #expect(run("rm", "-r", directory + "/db/data") == 0)
            var child = pid_t()
            let pointers = words.map { strdup($0) } + [nil]
            defer { pointers.forEach { free($0) } }
            #expect(posix_spawnp(&child, "sh", nil, nil, pointers, environ) == 0)
            defer {
                kill(child, SIGKILL)
                waitpid(child, nil, 0)
            }
            let cluster = try Cluster.open(directory: directory + "/db")
            #expect(try await answer(of: cluster) == 42)
            cluster.release()
        }
    }

    @Test("keeps data across a postmaster that was killed, whether reopened or restarted")
    func killed() async throws {
        try await withDirectory { directory in
            let cluster = try Cluster.open(directory: directory + "/db")
            let connection = try await BlockingConnection.open(cluster.connectionString)
            try await connection.execute(script: "create table t as select 7::bigint as n")
            // The connection's server process outlives its postmaster for a moment.
            try killPostmaster(in: directory + "/db")
            #expect(try cluster.restartIfDead())
            #expect(try !cluster.restartIfDead())
            let again = try await BlockingConnection.open(cluster.connectionString)
            #expect(try await again.query("select n from t").only().int8(0) == 7)

            try killPostmaster(in: directory + "/db")
            cluster.release()
            let reopened = try Cluster.open(directory: directory + "/db")
            let third = try await BlockingConnection.open(reopened.connectionString)
            #expect(try await third.query("select n from t").only().int8(0) == 7)
        }
    }

    @Test("starts again although a busy process of the killed server lives on")
    func busyOrphan() async throws {
        try await withDirectory { directory in
            let cluster = try Cluster.open(directory: directory + "/db")
            let busy = try await BlockingConnection.open(cluster.connectionString)
            let watcher = try await BlockingConnection.open(cluster.connectionString)
            let loop = "do $$ begin loop perform 1; end loop; end $$"
            let endless = Task { try await busy.execute(script: loop) }
            let active = "select 1 from pg_stat_activity where state = 'active' and query = $1"
            while try await watcher.query(active, [.text(loop)]).isEmpty {}
            try killPostmaster(in: directory + "/db")
            #expect(try cluster.restartIfDead())
            #expect(try await answer(of: cluster) == 42)
            await #expect(throws: PostgresError.self) { try await endless.value }
        }
    }

    @Test("puts its socket elsewhere when the path of its directory is too long for one")
    func longPath() async throws {
        try await withDirectory { directory in
            let long = directory + "/" + String(repeating: "d", count: 120)
            let cluster = try Cluster.open(directory: long)
            #expect(try await answer(of: cluster) == 42)
            let string = cluster.connectionString
            cluster.release()
            let again = try Cluster.open(directory: long)
            #expect(again.connectionString == string)
            #expect(try await answer(of: again) == 42)
        }
    }

    @Test("says which directory the server's user may not enter", .enabled(if: geteuid() == 0))
    func notTraversable() async throws {
        try await withDirectory { directory in
            chmod(directory, 0o700)
            #expect(throws: ClusterError.notTraversable(path: directory, user: "postgres")) {
                try Cluster.open(directory: directory + "/db")
            }
        }
    }
}
