import Synchronization

/// Gives each place of a list to one of many takers.
final class Counter: Sendable {
    private let taken = Atomic<Int>(0)

    /// The next place; `nil` when all are taken.
    func next(below count: Int) -> Int? {
        let place = taken.add(1, ordering: .relaxed).oldValue
        return place < count ? place : nil
    }
}

/// Makes values on all cores, in order.
func made<Value: Sendable>(
    _ count: Int, _ make: @escaping @Sendable (Int) throws -> Value
) async throws -> [Value] {
    let size = 500
    let pieces = (count + size - 1) / size
    return try await withThrowingTaskGroup(of: (Int, [Value]).self) { group in
        for piece in 0..<pieces {
            group.addTask {
                (piece, try (piece * size..<min(count, (piece + 1) * size)).map(make))
            }
        }
        var all = [[Value]](repeating: [], count: pieces)
        for try await (piece, values) in group { all[piece] = values }
        return all.flatMap { $0 }
    }
}
