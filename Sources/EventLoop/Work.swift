/// Something to run on the loop.
enum Work: Sendable {
    case job(UnownedJob)
    case body(@Sendable () -> Void)
}

/// Work in the order of arrival.
struct WorkQueue {
    private var items: [Work] = []
    private var first = 0

    var isEmpty: Bool { first == items.count }

    mutating func append(_ work: Work) {
        items.append(work)
    }

    mutating func append(contentsOf work: [Work]) {
        items.append(contentsOf: work)
    }

    mutating func popFirst() -> Work? {
        guard first < items.count else { return nil }
        let work = items[first]
        // What has run must not be kept alive until the whole queue is empty.
        items[first] = Self.nothing
        first += 1
        if first == items.count {
            items.removeAll(keepingCapacity: items.count <= 4_096)
            first = 0
        } else if first >= 1_024 && first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return work
    }

    private static let nothing = Work.body {}
}
