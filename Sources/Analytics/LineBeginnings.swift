import Domain

/// How a line began.
struct Beginning {
    /// The first period of all, as a place in the line.
    let period: Int
    /// The first currency that a period names, in the order of purchases.
    let currency: String?
    /// When something was paid for first.
    let paidAt: Instant?
    let hasTried: Bool
    let hasConverted: Bool
}

/// Which periods a line reached, counted in plan lengths from its first one at full price.
struct Retention {
    let first: Int
    /// From 1, which is the first itself.
    let numbers: Set<Int64>
}

/// Whose a line is from one instant to another, by its own words.
struct Belonging: Hashable {
    var from: Instant
    var until: Instant
    var owner: LineOwner?
    /// What the last period that had begun is, while the line is nobody's.
    var traits: Traits
}

extension MeasuredLine {
    /// How it began; `nil` without a period.
    func beginning() -> Beginning? {
        let order = line.periods.indices.sorted {
            (period($0).purchasedAt, period($0).transaction)
                < (period($1).purchasedAt, period($1).transaction)
        }
        guard let first = order.first else { return nil }
        let trials = subscriptions.filter { period($0).periodClass == .trial }
        return Beginning(
            period: first, currency: order.lazy.compactMap { period($0).currency }.first,
            paidAt: order.filter(isPaid).flatMap { period($0).payments.map(\.purchasedAt) }.min(),
            hasTried: !trials.isEmpty,
            hasConverted: trials.contains { isInTime(conversion(of: $0), $0) })
    }

    /// What it reached; `nil` when it never was paid for at full price.
    ///
    /// Trials and introductory periods are neither the first nor a later one.
    func retention() -> Retention? {
        let counted = subscriptions.filter { period($0).periodClass == .paid }
        guard let first = counted.first else { return nil }
        let start = period(first).purchasedAt.milliseconds
        let length = plans[first].milliseconds
        return Retention(
            first: first,
            numbers: Set(
                counted.map {
                    1 + (period($0).purchasedAt.milliseconds - start + length / 2) / length
                }
            ))
    }

    /// Whose it is, in order of time, without overlap; what adjoins differs.
    func belongings() -> [Belonging] {
        let owners = line.owners(settings)
        let starts = Set(line.periods.map(\.from))
        let edges = starts.union(owners.map(\.from)).sorted()
        var found: [Belonging] = []
        for (place, from) in edges.enumerated() {
            let owner = owners.last { $0.from <= from }?.owner
            let until = place + 1 < edges.count ? edges[place + 1] : .distantFuture
            let traits =
                owner == nil ? traits(of: line.periods.lastIndex { $0.from <= from }) : Traits()
            if let last = found.last, last.owner == owner, last.traits == traits {
                found[found.count - 1].until = until
            } else {
                found.append(Belonging(from: from, until: until, owner: owner, traits: traits))
            }
        }
        return found
    }
}
