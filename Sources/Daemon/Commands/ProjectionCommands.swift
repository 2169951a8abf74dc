import Domain
import Entitlements
import Foundation
import Ledger
import Projecting

/// `projections …`: how they stand, rebuilding, proving, going back.
struct ProjectionCommands {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        let size = try size()
        if invocation.command == .projectionsList {
            return try await Commands.withGround(configuration, list)
        }
        let name = invocation.arguments[0]
        guard let projection = Projections.named(name) else {
            let names = Projections.all.map(\.name).joined(separator: ", ")
            throw .badQuestion("there is no projection \"\(name)\"; there are: \(names)")
        }
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            if invocation.has("dry-run") { return try await dryRun(ground) }
            do throws(ProjectingError) {
                return try await run(projection, size, ground)
            } catch {
                throw .projecting(error)
            }
        }
    }

    /// Of a rebuild, as far as it was asked for.
    private struct Size {
        let workers: Int?
        let rangeBuckets: Int?
    }

    private func run(_ projection: any Projection, _ size: Size, _ ground: Ground)
        async throws(ProjectingError) -> ExitCode
    {
        switch invocation.command {
        case .projectionsVerify:
            return try await building(projection, size, ground) { rebuild in
                { () throws(ProjectingError) in try await rebuild.verify() }
            }
        case .projectionsRollback:
            let outcome = try await ground.rebuild(projection).rollBack()
            tell(projection, outcome, seconds: nil)
            return .done
        case .projectionsCancel:
            let wasBuilding = try await ground.rebuild(projection).cancel()
            print(wasBuilding ? "cancelled" : "nothing is being built")
            return .done
        default:
            return try await building(projection, size, ground) { rebuild in
                { () throws(ProjectingError) in try await rebuild.replace() }
            }
        }
    }

    /// Whose answers a rebuild would change: those that the record makes and the live generations
    /// do not.
    private func dryRun(_ ground: Ground) async throws(DaemonError) -> ExitCode {
        let following = ground.following(Projections.all)
        let count: AnswerComparison.Count
        do throws(DaemonError) {
            count = try await AnswerComparison(ground: ground, asksAt: SystemClock.now).withRecord()
        } catch {
            await following.stop()
            throw error
        }
        await following.stop()
        Program.complain("\(count.differing) of \(count.asked) customers' answers would change")
        return .done
    }

    private func size() throws(DaemonError) -> Size {
        Size(
            workers: try number("workers", 1...64),
            rangeBuckets: try number("range-buckets", 1...Int(Bucket.count)))
    }

    private func number(_ option: String, _ range: ClosedRange<Int>) throws(DaemonError) -> Int? {
        guard let text = invocation.value(option) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .badQuestion(
                "--\(option) takes a whole number from \(range.lowerBound) to "
                    + "\(range.upperBound), found \"\(text)\"")
        }
        return number
    }

    /// Builds while the live generation is kept level, which nobody else does without a daemon.
    private func building(
        _ projection: any Projection, _ size: Size, _ ground: Ground,
        _ work: (Rebuild) -> () async throws(ProjectingError) -> Rebuild.Outcome
    ) async throws(ProjectingError) -> ExitCode {
        let head = try? await ground.reader.head()
        let progress = Progress(
            "\(invocation.command.words[1]) \(projection.name)", of: head?.position.number)
        let told = Counted()
        let rebuild = ground.rebuild(
            projection, workers: size.workers, rangeBuckets: size.rangeBuckets
        ) { done, _ in progress.advance(by: told.news(done)) }
        let following = ground.following([projection])
        let started = ContinuousClock.now
        do throws(ProjectingError) {
            let outcome = try await work(rebuild)()
            progress.finish()
            await following.stop()
            let (seconds, fraction) = started.duration(to: .now).components
            tell(projection, outcome, seconds: Double(seconds) + Double(fraction) / 1e18)
            return invocation.command == .projectionsVerify && outcome.isEqual != true
                ? .found : .done
        } catch {
            progress.finish()
            await following.stop()
            throw error
        }
    }

    private func tell(_ projection: any Projection, _ outcome: Rebuild.Outcome, seconds: Double?) {
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "projection": .string(projection.name),
                    "generation": .integer(outcome.generation),
                    "position": .integer(outcome.position.number),
                    "entries": .integer(outcome.entries), "digest": .text(outcome.digest),
                    "liveDigest": .text(outcome.liveDigest),
                    "equal": outcome.isEqual.map(JSON.bool),
                    "milliseconds": seconds.map { .integer(Int64($0 * 1_000)) },
                ]))
            return
        }
        print("\(projection.name): generation \(outcome.generation), position \(outcome.position)")
        if let seconds {
            print("  \(outcome.entries) entries in \(String(format: "%.1f", seconds)) s")
        }
        if let digest = outcome.digest, let live = outcome.liveDigest {
            print("  digest \(digest)")
            print(digest == live ? "  as live" : "  DIFFERS from live \(live)")
        } else if invocation.command == .projectionsVerify {
            print("  the live generation is of another edition: nothing to compare with")
        }
    }

    private func list(_ ground: Ground) async throws(DaemonError) -> ExitCode {
        do throws(ProjectingError) {
            for projection in Projections.all {
                let status = try await ProjectionRegistry(ground.readPool).status(
                    of: projection.name)
                if invocation.has("json") {
                    Commands.write(status.rendered)
                } else {
                    show(status)
                }
            }
            return .done
        } catch {
            throw .projecting(error)
        }
    }

    private func show(_ status: ProjectionStatus) {
        print(
            "\(status.name): generation \(status.generation ?? 0), edition \(status.edition ?? 0), "
                + "position \(status.position) of \(status.head), \(status.halted.count) halted")
        for generation in status.generations where generation.number != status.generation {
            let share = "\(generation.done) of \(generation.total) entries"
            print(
                "  generation \(generation.number): \(generation.state), \(generation.phase), "
                    + "\(generation.failure ?? share)")
        }
        for halt in status.halted.prefix(20) {
            print("  halted: \(halt.stream.name) at \(halt.position): \(halt.reason)")
        }
    }
}
