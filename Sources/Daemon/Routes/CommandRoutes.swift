import Domain
import HTTP
import Ledger
import Operation

/// The backend's commands: grants, merges, the catalogue.
struct CommandRoutes: Sendable {
    let writer: Ledger.Writer
    let reader: LedgerReader

    var routes: [Route] {
        [
            Route("POST", "/v1/customers/{customer}/grants", .ingest, grant),
            Route("DELETE", "/v1/customers/{customer}/grants/{grant}", .ingest, endGrant),
            Route("POST", "/v1/customers/{customer}/merge", .ingest, merge),
            Route("POST", "/v1/customers/{customer}/unmerge", .ingest, unmerge),
            Route("PUT", "/v1/catalog", .operate, replaceCatalog),
            Route("GET", "/v1/catalog", .operate, catalog),
        ]
    }

    @Sendable private func grant(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let customer = try Reading.customer(path[0])
        let json = try Reading.object(request, members: ["entitlement", "from", "until", "reason"])
        let now = SystemClock.now
        let wanted = CustomerCommands.Wanted(
            entitlement: try word(json, "entitlement"),
            from: try Reading.instant(json, "from") ?? now,
            until: try Reading.instant(json, "until"), reason: try word(json, "reason"))
        if let until = wanted.until, until <= wanted.from {
            throw .badRequest("`until` must be after `from`")
        }
        let key = CustomerCommands.key("grant", try Reading.idempotencyKey(request))
        let appended = try await append(
            CustomerCommands.grant(wanted, to: customer, key: key, now: now))
        return written(
            appended, [.init("grant", .string(CustomerCommands.grantID(key: key)))], status: 201)
    }

    @Sendable private func endGrant(_: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let customer = try Reading.customer(path[0])
        let appended = try await append(
            CustomerCommands.endGrant(path[1], of: customer, now: SystemClock.now))
        return written(appended, [.init("grant", .string(path[1]))])
    }

    @Sendable private func merge(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let (customer, into, at) = try merging(request, path)
        let appended = try await append(
            CustomerCommands.merge(
                customer, into: into, at: at,
                key: CustomerCommands.key("merge", try Reading.idempotencyKey(request)),
                now: SystemClock.now))
        return written(
            appended, [.init("customer", .string(customer)), .init("into", .string(into))])
    }

    @Sendable private func unmerge(_ request: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let (customer, into, at) = try merging(request, path)
        let appended = try await append(
            CustomerCommands.unmerge(
                customer, from: into, at: at,
                key: CustomerCommands.key("unmerge", try Reading.idempotencyKey(request)),
                now: SystemClock.now))
        return written(
            appended, [.init("customer", .string(customer)), .init("into", .string(into))])
    }

    private func merging(_ request: Request, _ path: [String]) throws(Problem)
        -> (customer: String, into: String, at: Instant)
    {
        let customer = try Reading.customer(path[0])
        let json = try Reading.object(request, members: ["into", "at"])
        let into = try Reading.customer(Reading.text(json, "into"))
        return (customer, into, try Reading.instant(json, "at") ?? SystemClock.now)
    }

    @Sendable private func replaceCatalog(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let json = try Reading.object(request, members: ["products", "validFrom"])
        let products = try CatalogReading.products(json)
        let appended = try await append(
            CatalogCommand.replace(
                products, validFrom: try Reading.instant(json, "validFrom"),
                now: SystemClock.now))
        return written(appended, [.init("products", .integer(Int64(products.count)))])
    }

    @Sendable private func catalog(_: Request, _: [String]) async throws(Problem) -> Response {
        let (head, settings) = try await reading { () throws(LedgerError) in
            let head = try await reader.head().position
            let entries = try await reader.entries(of: [.settings], upTo: head)
            return (head, entries.reduce(Settings()) { $0.evolved(by: $1) })
        }
        let latest = settings.latestCatalog ?? CatalogChange(products: [:])
        return .json(
            .object([
                .init("products", latest.productsBody),
                .init("validFrom", .moment(latest.validFrom)),
                .init("position", .integer(head.number)),
            ]))
    }

    private func word(_ json: JSON, _ name: String) throws(Problem) -> String {
        let text = try Reading.text(json, name)
        guard (1...500).contains(text.count), !text.allSatisfy(\.isWhitespace) else {
            throw .badRequest("`\(name)` must be a text of 1 to 500 characters")
        }
        return text
    }

    private func append(_ proposal: Proposal) async throws(Problem) -> Appended {
        do throws(AppendError) {
            return try await writer.append(proposal)
        } catch {
            throw Problem(error)
        }
    }

    private func written(_ appended: Appended, _ more: [JSON.Member], status: Int = 200)
        -> Response
    {
        .json(
            .object(
                [
                    .init("position", .integer(appended.position.number)),
                    .init("appended", .integer(Int64(appended.count))),
                ] + more), status: status)
    }
}

/// Reads a catalogue from a body as strictly as from the configuration.
enum CatalogReading {
    static func products(_ json: JSON) throws(Problem) -> [String: Product] {
        guard let wanted = json["products"] else {
            throw .badRequest("the member `products` is missing")
        }
        return try products(
            text: String(decoding: JSON(members: ["products": wanted]).bytes(), as: UTF8.self))
    }

    /// The products of a text in JSON5 such as `{products: {…}}`.
    static func products(text: String) throws(Problem) -> [String: Product] {
        let node: ConfigurationNode
        do {
            node = try JSON5Parser.parse(text)
        } catch {
            throw .badRequest("`products` cannot be read: \(error)")
        }
        var decoder = ConfigurationDecoder(
            fileName: "body", fileDirectory: "/", workingDirectory: "/", environment: [:])
        let products = decoder.catalog(node, at: "")
        guard decoder.refusals.isEmpty else {
            throw .badRequest(decoder.refusals.map(\.description).joined(separator: "; "))
        }
        return Dictionary(products.map { ($0.id, $0.recorded) }) { _, new in new }
    }
}
