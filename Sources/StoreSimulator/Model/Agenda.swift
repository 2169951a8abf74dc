import Domain

/// Something that happens at an instant unless it is void by then.
struct Due: Sendable {
    enum Matter: Sendable {
        case step(person: Int, Step)
        /// The store tries to renew ahead of time.
        case renewal(chain: Int, epoch: Int)
        /// The period ends.
        case end(chain: Int, epoch: Int)
        case graceEnd(chain: Int, epoch: Int)
        /// The store gives up collecting.
        case retryEnd(chain: Int, epoch: Int)
    }

    let at: Instant
    /// Where it stands among those of the same instant.
    let number: Int
    let matter: Matter
}

/// What is due, the earliest last.
struct Agenda: Sendable {
    private var items: [Due] = []
    private var made = 0

    /// When the next thing is due.
    var next: Instant? { items.last?.at }
    /// How many things are due.
    var count: Int { items.count }

    mutating func add(_ matter: Due.Matter, at instant: Instant) {
        made += 1
        let due = Due(at: instant, number: made, matter: matter)
        var low = 0
        var high = items.count
        while low < high {
            let middle = (low + high) / 2
            let other = items[middle]
            if (other.at, other.number) > (due.at, due.number) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        items.insert(due, at: low)
    }

    /// Takes the next thing that is due by an instant.
    mutating func take(by instant: Instant) -> Due? {
        guard let next, next <= instant else { return nil }
        return items.popLast()
    }
}
