import Foundation
import StoreSimulator
import Testing

@testable import Daemon

@Suite("The demo's scenario")
struct SimulatingTests {
    @Test("can be played")
    func demo() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(
            contentsOf: root.appendingPathComponent("ops/demo.json5"), encoding: .utf8)
        _ = try Scenario(JSON5Parser.parse(text).json)
    }
}
