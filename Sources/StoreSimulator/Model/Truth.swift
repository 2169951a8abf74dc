import Domain

/// What a customer may use, by the store's own account.
struct Truth: Sendable {
    /// Spans of access by entitlement, in order, joined where they touch.
    var spans: [String: [(from: Instant, until: Instant)]] = [:]

    /// Adds a span, unless it is empty.
    mutating func add(_ entitlements: [String], from: Instant, until: Instant) {
        guard from < until else { return }
        for entitlement in entitlements {
            spans[entitlement, default: []].append((from: from, until: until))
        }
    }

    /// The spans, joined.
    func joined() -> Truth {
        var truth = Truth()
        for (entitlement, spans) in spans {
            var joined: [(from: Instant, until: Instant)] = []
            for span in spans.sorted(by: { $0.from < $1.from }) {
                if let last = joined.last, span.from <= last.until {
                    joined[joined.count - 1].until = max(last.until, span.until)
                } else {
                    joined.append(span)
                }
            }
            truth.spans[entitlement] = joined
        }
        return truth
    }
}

extension World {
    /// What a customer may use: what each purchase gave, and grace, summed up by hand.
    func truth(of person: Int) -> Truth {
        var truth = Truth()
        for place in people[person].chains {
            let chain = chains[place]
            for transaction in chain.transactions.map({ transactions[$0] }) {
                truth.add(
                    transaction.product.entitlements, from: transaction.purchasedAt,
                    until: transaction.accessUntil)
            }
            for grace in chain.graces {
                // Grace is of the product whose period had ended.
                let ended = chain.transactions.map { transactions[$0] }
                    .last { $0.purchasedAt < grace.from }
                truth.add(ended?.product.entitlements ?? [], from: grace.from, until: grace.until)
            }
        }
        return truth.joined()
    }
}
