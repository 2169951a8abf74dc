import Domain
import Operation
import Postgres

/// `keys create`, `keys list`, `keys revoke`.
struct KeyCommands {
    let invocation: Invocation
    let configuration: Configuration

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    func run() async throws(DaemonError) -> ExitCode {
        try await Commands.withGround(configuration) { ground throws(DaemonError) in
            do throws(PostgresError) {
                return try await run(ground.keys)
            } catch {
                throw .database(error)
            }
        }
    }

    private func run(_ keys: APIKeys) async throws(PostgresError) -> ExitCode {
        let now = SystemClock.now.milliseconds
        switch invocation.command {
        case .keysCreate:
            let roles = Set(invocation.values("role").compactMap(Role.init(rawValue:)))
            let made = try await keys.create(
                name: invocation.value("name") ?? "",
                roles: roles.isEmpty ? Set(Role.allCases) : roles, now: now)
            if invocation.has("json") {
                Commands.write(rendered(made.key, secret: made.secret))
            } else {
                print("\(made.key.id)\nshown this once: \(made.secret)")
            }
        case .keysList:
            for key in try await keys.list() {
                if invocation.has("json") {
                    Commands.write(rendered(key, secret: nil))
                } else {
                    let state = key.revokedAt == nil ? "holds" : "ended"
                    let roles = key.roles.map(\.rawValue).sorted().joined(separator: ",")
                    print("\(key.id)  \(state)  \(roles)  \(key.name)")
                }
            }
        case .keysRevoke:
            let id = invocation.arguments[0]
            guard try await keys.revoke(id, now: now) else {
                Program.complain("there is no key `\(id)` that holds")
                return .failed
            }
            print("ended \(id)")
        default: return .usage
        }
        return .done
    }

    private func rendered(_ key: APIKey, secret: String?) -> JSON {
        JSON(members: [
            "id": .string(key.id), "name": .string(key.name),
            "roles": .array(key.roles.map(\.rawValue).sorted().map(JSON.string)),
            "createdAt": .moment(Instant(milliseconds: key.createdAt)),
            "revokedAt": .moment(key.revokedAt.map(Instant.init(milliseconds:))),
            "secret": .text(secret),
        ])
    }
}
