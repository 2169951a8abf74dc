import Domain
import HTTP

// What only a simulator has: looking behind the counter, and making things happen.
extension Store {
    /// Answers a call below `/simulator`.
    func control(_ request: Request, path: [String]) -> Response {
        advance()
        let value = { name in request.query.first { $0.name == name }?.value }
        do throws(SimulatorError) {
            switch (request.method, path.joined(separator: "/")) {
            case ("GET", "lives"): return lives()
            case ("GET", "truth"): return try truth(value("customer"), at: value("at"))
            case ("GET", "clock"): return clockState()
            case ("POST", "clock"): return try setClock(reader(request))
            case ("GET", "faults"): return .api(faults.rendered)
            case ("POST", "faults"):
                faults = try Faults(reader(request))
                return .api(faults.rendered)
            case ("POST", "act"): return try act(reader(request))
            default: return refusal(404, "no such path below /simulator")
            }
        } catch {
            return refusal(422, "\(error)")
        }
    }

    private func reader(_ request: Request) throws(SimulatorError) -> ScenarioReader {
        guard let json = try? JSON.parse(request.body), json.members != nil else {
            throw .badScenario(path: "body", why: "wanted is an object in JSON")
        }
        return ScenarioReader(json, path: "")
    }

    private func refusal(_ status: Int, _ detail: String) -> Response {
        .api(JSON(members: ["error": .string(detail)]), status: status)
    }

    // MARK: Looking

    private func lives() -> Response {
        let people = world.people.indices.map { place -> JSON in
            let person = world.people[place]
            let chains = person.chains.map { chain in
                JSON(members: [
                    "originalTransactionId": .string(world.chains[chain].id),
                    "product": .string(world.product(chain).id),
                    "group": .text(world.chains[chain].group),
                    "transactions": .integer(Int64(world.chains[chain].transactions.count)),
                    "latestTransactionId": .string(world.transactions[world.latest(chain)].id),
                    "status": world.chains[chain].group == nil
                        ? nil : .integer(world.status(chain, at: world.now)),
                    "ownership": .string(world.transactions[world.latest(chain)].ownership),
                ])
            }
            let receipt = ReceiptText(environment: person.environment, customer: person.id)
            return JSON(members: [
                "customer": .string(person.id), "appAccountToken": .string(person.token),
                "appTransactionId": .string(person.appTransactionId),
                "environment": .string(person.environment.name), "receipt": .string(receipt.text),
                "lines": .array(chains),
            ])
        }
        return .api(
            JSON(members: ["lives": .array(people), "now": .string(world.now.description)]))
    }

    private func truth(_ customer: String?, at text: String?) throws(SimulatorError) -> Response {
        guard let customer, let person = world.person(customer) else {
            throw .badScenario(path: "customer", why: "wanted is a customer's id or token")
        }
        var instant = world.now
        if let text {
            guard let read = Instant(text) else {
                throw .badScenario(path: "at", why: "wanted is an instant")
            }
            instant = read
        }
        let spans = world.truth(of: person).spans.sorted { $0.key < $1.key }
        let entitlements = spans.map { entitlement, spans in
            let span = spans.first { $0.from <= instant && instant < $0.until }
            let written = spans.map { span in
                JSON.array([
                    .string(span.from.description),
                    span.until == .distantFuture ? .null : .string(span.until.description),
                ])
            }
            return JSON.Member(
                entitlement,
                JSON(members: ["active": .bool(span != nil), "spans": .array(written)]))
        }
        return .api(
            JSON(members: [
                "customer": .string(world.people[person].id),
                "environment": .string(world.people[person].environment.name),
                "at": .string(instant.description), "now": .string(world.now.description),
                "entitlements": .object(entitlements),
            ]))
    }

    // MARK: Making things happen

    private func act(_ reader: ScenarioReader) throws(SimulatorError) -> Response {
        let id = try reader.required("customer")
        let step = try Step(reader)
        let environment = try reader.environment("environment") ?? .production
        let person = world.person(id) ?? world.add(id, environment: environment)
        let told = world.notices.count
        if let why = world.take(step, by: person) { return refusal(409, why) }
        let notices = world.notices.dropFirst(told).map { notice in
            JSON(members: [
                "notificationType": .string(notice.type), "subtype": .text(notice.subtype),
                "notificationUUID": .string(notice.uuid),
                "originalTransactionId": .text(notice.original),
                "transactionId": .text(notice.transaction),
            ])
        }
        return .api(
            JSON(members: [
                "customer": .string(world.people[person].id),
                "appAccountToken": .string(world.people[person].token),
                "now": .string(world.now.description), "notifications": .array(Array(notices)),
            ]))
    }

    private func clockState() -> Response {
        .api(
            JSON(members: [
                "now": .string(world.now.description), "factor": .number("\(clock.factor)"),
                "planned": .integer(Int64(world.agenda.count)),
                "next": .text(world.agenda.next?.description),
                "notifications": .integer(Int64(world.notices.count)),
                "underWay": .integer(Int64(underWay)),
            ]))
    }

    private func setClock(_ reader: ScenarioReader) throws(SimulatorError) -> Response {
        try reader.allow(["factor", "to", "by"])
        if let factor = try reader.number("factor") {
            guard factor >= 0 else { throw reader.refusal("factor", "a number from 0") }
            clock.run(at: factor)
        }
        var target: Instant?
        if let text = try reader.text("to") {
            guard let instant = Instant(text) else { throw reader.refusal("to", "an instant") }
            target = instant
        } else if let span = try reader.span("by") {
            target = world.pace.adding(span, to: world.now)
        }
        if let target {
            guard target >= world.now else { throw reader.refusal("to", "an instant to come") }
            clock.jump(to: target)
            advance()
        }
        return clockState()
    }
}
