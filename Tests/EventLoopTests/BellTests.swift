import EventLoop
import Testing

@Suite("A bell")
struct BellTests {
    @Test("that rang since it was looked at keeps nobody waiting")
    func rang() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let bell = Bell()
        let count = bell.count
        bell.ring()
        await bell.wait(since: count, on: loop, atMost: .seconds(3_600))
        #expect(bell.count == count + 1)
    }

    @Test("wakes everybody who waits")
    func wakes() async {
        let loop = EventLoop(name: "test")
        defer { loop.stop() }
        let bell = Bell()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<5 {
                group.addTask {
                    await bell.wait(since: 0, on: loop, atMost: .seconds(3_600))
                }
            }
            group.addTask { bell.ring() }
        }
        #expect(bell.count == 1)
    }
}
