import EventLoop
import Foundation
import Postgres
import Synchronization

/// Ends a command at once when it is told to, yet leaves no embedded database without a user.
enum Interruption {
    private struct State {
        var cluster: Cluster?
        var isOpening = false
        var signal: Int32?
    }

    private static let state = Mutex(State())

    /// From now on the signals that end a command let go of the database first.
    static func watch() {
        let signals = EventLoop(name: "signals")
        EventLoop.onSignal([SIGINT, SIGTERM, SIGHUP, SIGPIPE], on: signals) { signal in
            let (isOpening, cluster) = state.withLock { state in
                // A second signal does not wait for a database that is being opened.
                defer { state.signal = signal }
                return (state.isOpening && state.signal == nil, state.cluster)
            }
            if isOpening { return }
            end(signal, cluster)
        }
    }

    /// Opens a cluster; whoever is interrupted meanwhile ends when it is open.
    static func opening(_ open: () throws(ClusterError) -> Cluster) throws(ClusterError) -> Cluster
    {
        state.withLock { $0.isOpening = true }
        defer { state.withLock { $0.isOpening = false } }
        let cluster = try open()
        let signal = state.withLock { state in
            state.cluster = cluster
            return state.signal
        }
        if let signal { end(signal, cluster) }
        return cluster
    }

    /// Leaves the ending to the signal if there was one: what fails after it has no other cause.
    static func yield() {
        guard state.withLock({ $0.signal != nil }) else { return }
        sleep(patience)
    }

    /// Longer than a database takes to stop. Units: seconds.
    private static let patience: UInt32 = 60

    /// Ends with the code by which shells tell a signal: 130 for an interrupt.
    private static func end(_ signal: Int32, _ cluster: Cluster?) -> Never {
        cluster?.release()
        _exit(128 + signal)
    }
}
