import Synchronization

/// Chains that were verified lately, by the exact header segment that carried them.
///
/// A chain costs some thirty signature checks; Apple uses a handful of chains at a time.
final class ChainStore: Sendable {
    private struct Kept {
        let header: [UInt8]
        let chain: Chain
    }

    private let limit: Int
    // The latest used comes first.
    private let kept = Mutex<[Kept]>([])

    init(limit: Int) {
        precondition(limit > 0, "a store of chains keeps at least one")
        self.limit = limit
    }

    /// The chain that this very header carried before.
    func chain(of header: ArraySlice<UInt8>) -> Chain? {
        kept.withLock { kept in
            guard let index = kept.firstIndex(where: { $0.header[...].isSame(as: header) }) else {
                return nil
            }
            if index > 0 { kept.insert(kept.remove(at: index), at: 0) }
            return kept[0].chain
        }
    }

    /// Keeps a chain that is right in all but its dates, and forgets the least used one.
    func keep(_ chain: Chain, of header: ArraySlice<UInt8>) {
        kept.withLock { kept in
            guard !kept.contains(where: { $0.header[...].isSame(as: header) }) else { return }
            kept.insert(Kept(header: Array(header), chain: chain), at: 0)
            if kept.count > limit { kept.removeLast() }
        }
    }
}
