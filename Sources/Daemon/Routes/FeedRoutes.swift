import Crypto
import Domain
import Entitlements
import EventLoop
import HTTP
import Ledger
import Operation

/// The record itself: its entries and its head.
struct FeedRoutes: Sendable {
    let answers: AnswerReader
    let reader: LedgerReader
    let loop: EventLoop
    let ending: Ending
    let signer: HeadSigner

    var routes: [Route] {
        [
            Route("GET", "/v1/entries", .read, entries),
            Route("GET", "/v1/ledger/head", nil, head),
        ]
    }

    @Sendable private func entries(_ request: Request, _: [String]) async throws(Problem)
        -> Response
    {
        let query = try Reading.query(
            request,
            allowed: ["after", "limit", "wait", "line", "customer", "kind", "environment"])
        let after = Position(try Reading.number(query, "after", 0...Int64.max) ?? 0)
        let limit = Int(try Reading.number(query, "limit", 1...1_000) ?? 100)
        let wait = try Reading.number(query, "wait", 0...30) ?? 0
        let deadline = ContinuousClock.now + .seconds(wait)
        let filter = try await filter(query)
        while true {
            let (head, found) = try await reading { () throws(LedgerError) in
                let head = try await reader.head().position
                return (
                    head,
                    try await reader.entries(
                        after: after, upTo: head, atMost: limit, filter: filter)
                )
            }
            if found.isEmpty, ContinuousClock.now < deadline, !ending.hasBegun {
                try? await loop.sleep(for: .milliseconds(100))
                continue
            }
            let next = found.count == limit ? found.last?.position.number : nil
            return .json(
                .object([
                    .init("entries", .array(found.map(\.rendered))),
                    .init("next", .figure(next)), .init("position", .integer(head.number)),
                ]))
        }
    }

    private func filter(_ query: [String: String]) async throws(Problem) -> EntryFilter {
        var filter = EntryFilter()
        if let name = query["environment"] { filter.environment = try Reading.environment(name) }
        if let kind = query["kind"] { filter.kind = Kind(kind) }
        if let line = query["line"] {
            let parts = line.split(separator: "/", maxSplits: 1).map(String.init)
            let environment =
                parts.count == 2
                ? try Reading.environment(parts[0]) : filter.environment ?? .production
            filter.stream = .line(environment, try Reading.original(parts.last ?? ""))
        }
        if let customer = query["customer"] {
            let id = try Reading.customer(customer)
            filter.customer = try await reading { () throws(LedgerError) in
                try await answers.streams(of: id)
            }
        }
        return filter
    }

    @Sendable private func head(_: Request, _: [String]) async throws(Problem) -> Response {
        let head = try await reading { () throws(LedgerError) in try await reader.head() }
        return .json(signer.signed(head))
    }
}

/// Signs the head of the ledger, so that a copy kept elsewhere proves what it was.
struct HeadSigner: Sendable {
    let key: Ed25519.PrivateKey

    /// The head as the interface writes it; the signature covers the canonical text of the rest.
    func signed(_ head: Head) -> JSON {
        let said: [JSON.Member] = [
            .init("position", .integer(head.position.number)),
            .init("digest", .string(head.digest.hex)), .init("root", .string(head.root.hex)),
            .init("recordedAt", head.number == 0 ? .null : .moment(head.recordedAt)),
        ]
        let signature = try? key.signature(for: JSON.object(said).canonicalBytes())
        return .object(
            said + [.init("signature", .word(signature.map { Base64.encode($0) }))])
    }
}
