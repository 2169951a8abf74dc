import Domain
import HTTP
import Operation

/// The description of the interface for programs.
///
/// - Source: OpenAPI 3.1.
struct OpenAPI: Sendable {
    /// What people need to know of a route beyond its path.
    struct About: Sendable {
        var summary: String
        var query: [String] = []
        var body: String?
    }

    private static let reads = [
        "environment", "at", "asKnownAt", "asKnownPosition", "app", "atLeast",
    ]
    private static let pages = ["limit", "after"]

    private static let metrics = [
        "at", "from", "to", "by", "app", "currency", "basis", "profile", "zone", "environment",
        "days", "gross", "asKnownAt", "asKnownPosition", "atLeast",
    ]

    /// Every route's description, by method and path.
    static let about: [String: About] = [
        "POST /v1/apple/notifications": About(
            summary: "Take a notification of Apple; the signature is the proof",
            body: "{\"signedPayload\": text}"),
        "POST /v1/apple/transactions": About(
            summary: "Take signed transactions and renewal infos, presented by a customer",
            body: "{\"signedTransactions\": [text], \"signedRenewalInfos\": [text], \"customer\"?}"),
        "POST /v1/apple/receipts": About(
            summary: "Ask Apple what a receipt holds, and record it",
            body: "{\"bundleId\", \"receiptData\", \"customer\"?, \"excludeOldTransactions\"?}"),
        "PUT /v1/customers/{customer}/tokens/{uuid}": About(
            summary: "Bind an account token to a customer", body: "{\"transfer\"?: true}"),
        "PUT /v1/customers/{customer}/lines/{environment}/{id}": About(
            summary: "Bind or transfer a line to a customer", body: "{\"from\"?: instant}"),
        "POST /v1/customers/{customer}/grants": About(
            summary: "Give an entitlement",
            body: "{\"entitlement\", \"from\"?, \"until\"?, \"reason\"}"),
        "DELETE /v1/customers/{customer}/grants/{grant}": About(summary: "Take a grant back"),
        "POST /v1/customers/{customer}/merge": About(
            summary: "Make a customer read as another", body: "{\"into\", \"at\"?}"),
        "POST /v1/customers/{customer}/unmerge": About(
            summary: "Undo a merge", body: "{\"into\", \"at\"?}"),
        "PUT /v1/catalog": About(
            summary: "Replace the catalogue", body: "{\"products\", \"validFrom\"?}"),
        "GET /v1/catalog": About(summary: "The newest catalogue"),
        "GET /v1/customers/{customer}/entitlements": About(
            summary: "What a customer may use", query: reads),
        "GET /v1/customers/{customer}/entitlements/{name}": About(
            summary: "Whether a customer may use one thing", query: reads),
        "POST /v1/entitlements": About(
            summary: "What many customers may use", query: reads,
            body: "{\"customers\": [text]}"),
        "GET /v1/customers/{customer}/lines": About(
            summary: "A customer's lines", query: reads + pages),
        "GET /v1/customers/{customer}/timeline": About(
            summary: "What happened to a customer, in words", query: reads + pages),
        "GET /v1/customers/{customer}/export": About(
            summary: "All that is held about a customer"),
        "GET /v1/lines/{environment}/{id}": About(
            summary: "A line with its periods and owners",
            query: ["at", "asKnownAt", "asKnownPosition", "atLeast"]),
        "GET /v1/transactions/{environment}/{id}": About(
            summary: "The period that a transaction id belongs to",
            query: ["at", "asKnownAt", "asKnownPosition", "atLeast"]),
        "GET /v1/entries": About(
            summary: "Entries in the order of positions",
            query: ["after", "limit", "wait", "line", "customer", "kind", "environment"]),
        "GET /v1/events": About(
            summary: "Outgoing events in the order of their numbers",
            query: ["after", "limit", "wait", "line", "customer", "kind", "environment"]),
        "GET /v1/ledger/head": About(summary: "The signed head of the ledger"),
        "GET /v1/metrics": About(
            summary: "The metrics with their definitions", query: pages),
        "GET /v1/metrics/{name}": About(
            summary: "A metric's rows, and with explain=true the periods behind them",
            query: metrics + ["explain", "after", "limit"]),
        "GET /v1/metrics/{name}/restatements": About(
            summary: "The cells of a metric that changed since a position, and what changed them",
            query: ["sincePosition"] + metrics + ["after", "limit"]),
        "GET /v1/quarantine": About(
            summary: "What is signed and not believed", query: ["reason", "after", "limit"]),
        "POST /v1/quarantine/reprocess": About(
            summary: "Judge what is held again, as configured now", body: "{\"digests\"?: [text]}"),
        "GET /v1/webhooks": About(summary: "How deliveries to each webhook go", query: pages),
        "POST /v1/webhooks/replay": About(
            summary: "Send a webhook again what a range of positions made",
            body: "{\"webhook\", \"from\", \"to\"}"),
        "GET /v1/projections": About(summary: "How the projections stand", query: pages),
        "GET /v1/projections/{name}": About(
            summary: "How a projection stands, its rebuild's progress, streams that halted"),
        "POST /v1/projections/{name}/rebuild": About(
            summary: "Build a projection anew while it serves"),
        "DELETE /v1/projections/{name}/rebuild": About(summary: "End a projection's rebuild"),
        "POST /v1/projections/{name}/rollback": About(
            summary: "Make a projection's generation before live again"),
        "GET /healthz": About(summary: "Whether the process lives"),
        "GET /readyz": About(summary: "Whether the daemon can store and answer"),
        "GET /metrics": About(summary: "Figures for Prometheus"),
        "GET /openapi.json": About(summary: "This description"),
    ]

    let routes: [Route]

    /// The document.
    var document: JSON {
        let byPath = Dictionary(grouping: routes, by: \.path).sorted { $0.key < $1.key }
        return .object([
            .init("openapi", .string("3.1.0")),
            .init(
                "info",
                JSON(members: [
                    "title": .string("Subledger"), "version": .string("1"),
                    "summary": .string("An event-sourced ledger of App Store purchases"),
                ])),
            .init(
                "paths",
                .object(
                    byPath.map { path, routes in
                        .init(
                            path,
                            .object(
                                routes.sorted { $0.method < $1.method }.map {
                                    .init($0.method.lowercased(), operation($0))
                                }))
                    })),
            .init("components", components),
        ])
    }

    private func operation(_ route: Route) -> JSON {
        let about = OpenAPI.about[route.method + " " + route.path] ?? About(summary: "")
        let inPath = route.pattern.filter { $0.hasPrefix("{") }.map { segment in
            parameter(String(segment.dropFirst().dropLast()), "path")
        }
        let parameters = inPath + about.query.map { parameter($0, "query") }
        var members: [JSON.Member] = [
            .init("summary", .string(about.summary)), .init("parameters", .array(parameters)),
        ]
        if let body = about.body {
            let schema = JSON(members: ["type": .string("object"), "description": .string(body)])
            members.append(.init("requestBody", content(schema, "application/json")))
        }
        let problem = JSON(members: ["$ref": .string("#/components/schemas/Problem")])
        members.append(
            .init(
                "responses",
                .object([
                    .init(
                        "2XX",
                        described(
                            "what was asked for",
                            JSON(members: ["type": .string("object")]), "application/json")),
                    .init("default", described("why not", problem, "application/problem+json")),
                ])))
        members.append(
            .init(
                "security",
                .array(
                    route.role == nil
                        ? [] : [.object([.init("key", .array([]))])])))
        if let role = route.role { members.append(.init("x-role", .string(role.rawValue))) }
        return .object(members)
    }

    private func parameter(_ name: String, _ place: String) -> JSON {
        JSON(members: [
            "name": .string(name), "in": .string(place),
            "required": .bool(place == "path"),
            "schema": JSON(members: ["type": .string("string")]),
        ])
    }

    private func content(_ schema: JSON, _ type: String) -> JSON {
        JSON(members: [
            "content": .object([.init(type, JSON(members: ["schema": schema]))])
        ])
    }

    private func described(_ text: String, _ schema: JSON, _ type: String) -> JSON {
        .object(
            [.init("description", .string(text))] + (content(schema, type).members ?? []))
    }

    private var components: JSON {
        let texts = ["type", "title", "detail", "code", "reason"].map { name in
            JSON.Member(name, JSON(members: ["type": .string("string")]))
        }
        let properties =
            texts + [
                .init("status", JSON(members: ["type": .string("integer")])),
                .init("retryable", JSON(members: ["type": .string("boolean")])),
            ]
        return JSON(members: [
            "securitySchemes": JSON(members: [
                "key": JSON(members: ["type": .string("http"), "scheme": .string("bearer")])
            ]),
            "schemas": JSON(members: [
                "Problem": JSON(members: [
                    "type": .string("object"), "properties": .object(properties),
                    "required": .array(
                        ["type", "title", "status", "detail", "code", "retryable"]
                            .map(JSON.string)),
                ])
            ]),
        ])
    }
}
