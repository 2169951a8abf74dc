import Crypto
import Foundation
import HTTP

/// Where the daemon listens, and what it shows there.
enum Doors {
    /// Listens at the configured addresses, and says so on standard output.
    static func open(_ router: Router, _ ground: Ground) throws(DaemonError) -> [Server] {
        let configuration = ground.configuration
        let identity = try identity(configuration)
        var doors: [(ListenAddress, @Sendable (Request) async -> Response)] = []
        if let inside = configuration.privateListen {
            let outside = Router(
                routes: router.routes.filter(Doors.isPublic), keyRing: router.keyRing,
                requests: router.requests)
            doors = [(configuration.listen, outside.answer), (inside, router.answer)]
        } else {
            doors = [(configuration.listen, router.answer)]
        }
        var servers: [Server] = []
        for (address, handler) in doors {
            do throws(ListenError) {
                let server = try Server(
                    host: address.host, port: address.port, on: [ground.outer],
                    identity: identity,
                    bodyLimit: { _, path in path == ReceiptRoutes.path ? 16 << 20 : 1 << 20 },
                    problem: { status, detail in Doors.problem(status, detail) },
                    handler: handler)
                servers.append(server)
                let scheme = identity == nil ? "http" : "https"
                print("listening on \(scheme)://\(address.host):\(server.port)")
            } catch {
                throw .notListening(error)
            }
        }
        fflush(nil)
        return servers
    }

    /// What the outer door shows when there is an inner one.
    private static func isPublic(_ route: Route) -> Bool {
        let path = "/" + route.pattern.joined(separator: "/")
        return path == "/v1/apple/notifications" || path == "/healthz"
    }

    @Sendable private static func problem(_ status: Int, _ detail: String) -> Response {
        Problem(
            status: status, code: "SL054", title: "Request Refused", detail: detail
        ).response
    }

    private static func identity(_ configuration: Configuration) throws(DaemonError) -> TLSIdentity?
    {
        guard let tls = configuration.tls else { return nil }
        guard let certificate = FileManager.default.contents(atPath: tls.certificate) else {
            throw .fileUnusable(
                tls.certificate, why: "there is no such file, or it may not be read")
        }
        let key: Concealed
        do throws(ConfigurationError) {
            key = try tls.key.read(environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .badQuestion("\(error)")
        }
        do throws(IdentityError) {
            return try TLSIdentity(
                certificates: Array(certificate), key: Array(key.revealed.utf8))
        } catch {
            throw .fileUnusable(tls.certificate, why: "\(error)")
        }
    }
}
