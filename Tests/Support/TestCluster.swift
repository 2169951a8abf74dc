internal import Glibc
internal import Synchronization

public import Postgres

/// A real PostgreSQL server for the tests of one run, stopped when the process ends.
///
/// The runs of one user share one server, each in databases of its own, so that a server that
/// a killed run left behind is taken over and stopped by the next.
public enum TestCluster {
    /// The server; started by whoever asks first.
    public static let shared: Cluster = start()

    private static let numbers = Atomic<Int>(0)
    private static let prefix = "test_\(getpid())_"

    /// Makes an empty database and returns how libpq reaches it as superuser.
    ///
    /// - Shape: dropped, like its server, at the end of the run.
    public static func freshDatabase() async throws(PostgresError) -> String {
        let number = numbers.add(1, ordering: .relaxed).newValue
        let name = prefix + "\(number)"
        let connection = try await BlockingConnection.open(shared.connectionString)
        try await connection.execute(script: "create database \(name)")
        await connection.close()
        return shared.connectionString(database: name)
    }

    private static func start() -> Cluster {
        let directory = "/tmp/subledger-testing-\(geteuid())"
        do {
            let cluster = try Cluster.open(directory: directory)
            atexit { TestCluster.end() }
            return cluster
        } catch {
            fatalError("no PostgreSQL for the tests: \(error)")
        }
    }

    private static func end() {
        dropDatabases()
        shared.release()
    }

    /// Drops this run's databases and those of runs whose process is gone.
    private static func dropDatabases() {
        let done = DispatchedOnce()
        Task.detached {
            defer { done.signal() }
            let connection = try await BlockingConnection.open(shared.connectionString)
            let rows = try await connection.query(
                "select datname from pg_database where datname like 'test\\_%'")
            for row in rows {
                let name = try row.text(0)
                let process = name.split(separator: "_").dropFirst().first.flatMap { pid_t($0) }
                guard let process, process == getpid() || kill(process, 0) != 0 else { continue }
                try await connection.execute(script: "drop database \(name) with (force)")
            }
            await connection.close()
        }
        done.wait(seconds: 20)
    }
}

/// Lets a thread wait for a task, for a bounded time.
///
/// `@unchecked` holds because a semaphore is made to be used from several threads.
private final class DispatchedOnce: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }

    func wait(seconds: Int) {
        var until = timespec()
        clock_gettime(CLOCK_REALTIME, &until)
        until.tv_sec += seconds
        while sem_timedwait(semaphore, &until) != 0 && errno == EINTR {}
    }
}
