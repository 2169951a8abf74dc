import Diagnostics
import Domain
import HTTP
import Operation
import Synchronization

/// One path and method, who may use it, and what answers.
struct Route: Sendable {
    /// Answers a request; `{}` segments of the pattern are the arguments.
    typealias Handler = @Sendable (Request, [String]) async throws(Problem) -> Response

    let method: String
    /// As written, such as `/v1/lines/{environment}/{id}`.
    let path: String
    let pattern: [String]
    let role: Role?
    let handler: Handler

    /// A route; a pattern is a path whose variable segments are written `{name}`.
    init(_ method: String, _ pattern: String, _ role: Role?, _ handler: @escaping Handler) {
        self.method = method
        path = pattern
        self.pattern = pattern.split(separator: "/").map(String.init)
        self.role = role
        self.handler = handler
    }

    /// The variable segments when the path is this route's; `nil` when it is not.
    func arguments(_ path: [String]) -> [String]? {
        guard path.count == pattern.count else { return nil }
        var arguments: [String] = []
        for (wanted, found) in zip(pattern, path) {
            if wanted.hasPrefix("{") {
                arguments.append(found)
            } else if wanted != found {
                return nil
            }
        }
        return arguments
    }
}

/// Finds the route of a request, checks the key, and answers.
struct Router: Sendable {
    let routes: [Route]
    let keyRing: KeyRing
    let requests: MetricRegistry
    private let counters = StatusCounters()

    init(routes: [Route], keyRing: KeyRing, requests: MetricRegistry) {
        self.routes = routes
        self.keyRing = keyRing
        self.requests = requests
    }

    /// The answer to a request, whatever happens.
    func answer(_ request: Request) async -> Response {
        let response: Response
        do throws(Problem) {
            response = try await found(request)
        } catch {
            response = error.response
        }
        counters.count(response.status, in: requests)
        return response
    }

    private func found(_ request: Request) async throws(Problem) -> Response {
        let path = request.segments
        var allowed: [(Route, [String])] = []
        for route in routes {
            if let arguments = route.arguments(path) { allowed.append((route, arguments)) }
        }
        let method = request.method
        let match = allowed.first {
            $0.0.method == method || ($0.0.method == "GET" && method == "HEAD")
        }
        // Under /v1 the key comes before the path, unless all that the path takes needs none.
        let isOpen = !allowed.isEmpty && allowed.allSatisfy { $0.0.role == nil }
        if path.first == "v1", !isOpen, match == nil || match?.0.role != nil {
            let roles = try await keyRing.roles(request)
            if let role = match?.0.role, !roles.contains(role) {
                throw .forbidden(role.rawValue)
            }
        }
        guard let (route, arguments) = match else {
            if allowed.isEmpty { throw .noPath }
            throw .method(allowed: Set(allowed.map(\.0.method)).sorted())
        }
        return try await route.handler(request, arguments)
    }
}

/// The counters of answers by status, at hand.
private final class StatusCounters: Sendable {
    private let known = Mutex<[Int: Counter]>([:])

    func count(_ status: Int, in registry: MetricRegistry) {
        let counter = known.withLock { known in
            if let counter = known[status] { return counter }
            let counter = registry.counter(
                "subledger_http_requests_total", help: "Requests by status.",
                labels: ["status": String(status)])
            known[status] = counter
            return counter
        }
        counter.add(1)
    }
}
