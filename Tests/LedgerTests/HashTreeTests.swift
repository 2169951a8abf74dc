import Crypto
import Testing

@testable import Ledger

@Suite("The hash tree")
struct HashTreeTests {
    /// The tree hash of RFC 9162 §2.1.1, as it is written there.
    private func root(_ leaves: ArraySlice<Digest>) -> Digest {
        guard let first = leaves.first else { return SHA256.digest(of: [UInt8]()) }
        if leaves.count == 1 { return SHA256.digest(of: [0] + first.bytes) }
        var split = 1
        while split * 2 < leaves.count { split *= 2 }
        let middle = leaves.startIndex + split
        return SHA256.digest(
            of: [1] + root(leaves[..<middle]).bytes + root(leaves[middle...]).bytes)
    }

    @Test("has the root that RFC 9162 defines, and goes on from its frontier")
    func roots() throws {
        let leaves = (0..<70).map { SHA256.digest(of: "leaf \($0)") }
        var tree = HashTree()
        #expect(tree.root == root([]))
        for (count, leaf) in leaves.enumerated() {
            // What the record keeps of a tree is enough to go on.
            tree = try #require(HashTree(size: Int64(count), frontier: tree.frontierBytes))
            tree.append(leaf)
            #expect(tree.size == Int64(count + 1))
            #expect(tree.root == root(leaves[...count]), "\(count + 1) leaves")
        }
    }

    @Test("does not take a frontier of another size")
    func otherFrontier() {
        var tree = HashTree()
        for number in 0..<5 { tree.append(SHA256.digest(of: "\(number)")) }
        #expect(HashTree(size: 5, frontier: tree.frontierBytes) == tree)
        #expect(HashTree(size: 6, frontier: tree.frontierBytes) != tree)
        #expect(HashTree(size: 7, frontier: tree.frontierBytes) == nil)
        #expect(HashTree(size: 5, frontier: Array(tree.frontierBytes.dropLast())) == nil)
    }
}
