import Diagnostics
import Foundation
import Postgres
import Synchronization

/// Brings an embedded database back when its server was killed.
final class ClusterWatch: Sendable {
    private let cluster: Cluster?
    private let isStopped = Atomic(false)
    private static let period: UInt32 = 200_000

    init(_ cluster: Cluster?) { self.cluster = cluster }

    /// Looks five times a second, on a thread of its own since restarting blocks.
    func start() {
        guard let cluster else { return }
        Thread.detachNewThread {
            while !self.isStopped.load(ordering: .relaxed) {
                usleep(ClusterWatch.period)
                guard !self.isStopped.load(ordering: .relaxed) else { return }
                do throws(ClusterError) {
                    if try cluster.restartIfDead() {
                        Log.warning("the embedded database was started again")
                    }
                } catch {
                    Log.error("the embedded database does not start", ["error": "\(error)"])
                }
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
