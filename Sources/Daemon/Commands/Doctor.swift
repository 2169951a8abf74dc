import Delivery
import Domain
import Foundation
import Ledger
import Operation
import Projecting

/// `doctor`: checks what a daemon needs, and says what to do about what is wrong.
struct Doctor {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    private struct Finding {
        let check: String
        let problem: String?
        var remedy = ""
    }

    func run() async -> ExitCode {
        var findings = [secrets(), certificates()] + serverAPIKeys() + [disk()]
        findings += await database()
        for finding in findings {
            if invocation.has("json") {
                Commands.write(
                    JSON(members: [
                        "check": .string(finding.check), "ok": .bool(finding.problem == nil),
                        "problem": .text(finding.problem),
                        "remedy": finding.problem == nil ? nil : .string(finding.remedy),
                    ]))
            } else if let problem = finding.problem {
                print("WRONG  \(finding.check): \(problem)\n       \(finding.remedy)")
            } else {
                print("ok     \(finding.check)")
            }
        }
        return findings.allSatisfy { $0.problem == nil } ? .done : .found
    }

    private func secrets() -> Finding {
        for (path, secret) in configuration.secrets {
            do throws(ConfigurationError) {
                _ = try secret.read(environment: ProcessInfo.processInfo.environment)
            } catch {
                return Finding(
                    check: "secrets", problem: "\(path): \(error)",
                    remedy: "put the secret where the configuration says it is")
            }
        }
        return Finding(check: "secrets", problem: nil)
    }

    private func certificates() -> Finding {
        do throws(DaemonError) {
            _ = try configuration.interpreter()
            return Finding(check: "certificates", problem: nil)
        } catch {
            return Finding(
                check: "certificates", problem: "\(error)",
                remedy: "name DER or PEM files in apple.rootCertificates")
        }
    }

    /// Whether each app's key for the server API can be used; Apple is not asked.
    private func serverAPIKeys() -> [Finding] {
        configuration.apps.compactMap { app in
            guard let access = app.serverAPI else { return nil }
            let check = "server API key of \(app.bundleID)"
            do throws(DaemonError) {
                _ = try access.key(of: app.bundleID)
                return Finding(check: check, problem: nil)
            } catch {
                return Finding(
                    check: check, problem: "\(error.code) \(error)",
                    remedy: "see the section \(error.code) of ops/runbook.md")
            }
        }
    }

    /// Whether each webhook takes what it is sent.
    private func deliveries(_ ground: Ground) async throws(LedgerError) -> [Finding] {
        let names = Set(
            configuration.webhooks.map { $0.name ?? Webhook.name(ofURL: $0.url) })
        return try await WebhookDesk(ground.readPool).states()
            .filter { names.contains($0.name) }.map { state in
                let waits = state.pending > 0 ? state.lastError : nil
                return Finding(
                    check: "webhook \(state.name)",
                    problem: state.parked > 0
                        ? "\(state.parked) deliveries are parked: \(state.lastError ?? "")"
                        : waits.map { "\(state.pending) deliveries wait: \($0)" },
                    remedy: "mend what answers there; see the section "
                        + "\((state.parked > 0 ? DeliveryTrouble.parked : .failed).code) of "
                        + "ops/runbook.md")
            }
    }

    private func disk() -> Finding {
        let values = try? FileManager.default.attributesOfFileSystem(
            forPath: configuration.dataDirectory)
        guard let free = values?[.systemFreeSize] as? NSNumber else {
            return Finding(
                check: "disk", problem: "\(configuration.dataDirectory) cannot be looked at",
                remedy: "create it, or let this user read it")
        }
        let gibibytes = free.int64Value / (1 << 30)
        return Finding(
            check: "disk", problem: gibibytes < 1 ? "less than 1 GiB is free" : nil,
            remedy: "free some space: the ledger only grows")
    }

    /// Whether every stream follows the record.
    private func halted(_ ground: Ground) async throws(LedgerError) -> Finding {
        var streams: [String] = []
        for projection in Projections.all {
            do throws(ProjectingError) {
                let status = try await ProjectionRegistry(ground.readPool).status(
                    of: projection.name)
                streams += status.halted.map {
                    "\($0.stream.name) in \(projection.name): \($0.reason)"
                }
            } catch {
                if case .ledger(let error) = error { throw error }
            }
        }
        guard let first = streams.first else {
            return Finding(check: "projections", problem: nil)
        }
        return Finding(
            check: "projections", problem: "\(streams.count) streams are halted, such as \(first)",
            remedy: "run a program that can read the entry: it takes the stream up again at start")
    }

    /// What Apple said when it refused an app's shared secret, within the last day.
    static func refusedSecret(_ ground: Ground, now: Instant) async -> String? {
        let refused = try? await Samples(ground.readPool).list(
            reasons: [ReceiptDesk.alarm], atMost: 1)
        let since = now.adding(days: -1).milliseconds
        return refused?.first { $0.receivedAt > since }?.detail
    }

    private func database() async -> [Finding] {
        do throws(DaemonError) {
            return try await Commands.withGround(configuration) { ground throws(DaemonError) in
                do throws(LedgerError) {
                    let head = try await ground.reader.head()
                    let halted = try await halted(ground)
                    let lead = head.recordedAt.milliseconds - SystemClock.now.milliseconds
                    return [
                        Finding(check: "database, schema and safeguards", problem: nil),
                        Finding(
                            check: "clock",
                            problem: lead > 5_000
                                ? "the newest batch is \(lead) ms in this machine's future" : nil,
                            remedy: "synchronize this machine's clock"),
                        halted,
                        Finding(
                            check: "shared secrets",
                            problem: await Doctor.refusedSecret(ground, now: SystemClock.now),
                            remedy: "see the section on refused shared secrets of ops/runbook.md"),
                    ] + (try await deliveries(ground))
                } catch {
                    throw .ledger(error)
                }
            }
        } catch {
            return [
                Finding(
                    check: "database, schema and safeguards", problem: "\(error.code) \(error)",
                    remedy: "see the section \(error.code) of ops/runbook.md")
            ]
        }
    }
}
