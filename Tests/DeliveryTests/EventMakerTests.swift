import Domain
import Testing

@testable import Delivery

@Suite("The maker of events")
struct EventMakerTests {
    @Test("tells what time ends when it does, once, whoever steps and however often")
    func once() async throws {
        try await TestGround.run { ground in
            try await ground.append([purchase("1", from: "2025-12-15", until: "2026-01-02")])
            try await ground.tellAll()
            #expect(try await ground.events().map(\.kind) == [.purchased])
            ground.clock.set("2026-01-02")
            try await ground.tellAll()
            try await ground.tellAll()
            let events = try await ground.events()
            #expect(events.map(\.kind) == [.purchased, .expired])
            #expect(events.last?.occurredAt == Instant("2026-01-02"))
            // What is heard of the line later gives the told end no timer again.
            try await ground.append([
                purchase("1", from: "2025-12-14", until: "2025-12-15", number: 0)
            ])
            try await ground.tellAll()
            #expect(try await ground.events().filter { $0.kind == .expired }.count == 1)
        }
    }

    @Test("does not tell an end that a renewal moved, even one recorded at the last moment")
    func moved() async throws {
        try await TestGround.run { ground in
            try await ground.append([purchase("1", from: "2025-12-15", until: "2026-01-02")])
            try await ground.tellAll()
            try await ground.append([
                purchase("1", from: "2026-01-02", until: "2026-02-02", number: 2, kind: .renewed)
            ])
            ground.clock.set("2026-01-02")
            try await ground.tellAll()
            #expect(try await ground.events().map(\.kind) == [.purchased, .renewed])
            ground.clock.set("2026-02-02")
            try await ground.tellAll()
            #expect(try await ground.events().last?.occurredAt == Instant("2026-02-02"))
        }
    }

    @Test("tells an end that came while nobody looked, at its own instant")
    func late() async throws {
        try await TestGround.run { ground in
            try await ground.append([purchase("1", from: "2025-12-15", until: "2026-01-02")])
            ground.clock.set("2026-03-01")
            try await ground.tellAll()
            let events = try await ground.events()
            #expect(events.map(\.kind) == [.purchased, .expired])
            #expect(events.last?.occurredAt == Instant("2026-01-02"))
        }
    }

    @Test("tells no end that was a day old when its entry was recorded")
    func old() async throws {
        try await TestGround.run { ground in
            try await ground.append([
                purchase("1", from: "2025-11-01", until: "2025-12-31"),
                purchase("2", from: "2025-11-01", until: "2025-12-31T00:00:00.001Z"),
            ])
            try await ground.tellAll()
            let ends = try await ground.events().filter { $0.kind == .expired }
            #expect(ends.map(\.stream) == [.line(.production, "2")])
        }
    }

    @Test("gives numbers without gaps, each entry told once, while several compete")
    func competing() async throws {
        try await TestGround.run { ground in
            for batch in 0..<6 {
                try await ground.append(
                    (0..<200).map { number in
                        purchase(
                            "\(number % 50)", from: "2025-12-15", until: "2026-01-02",
                            number: batch * 1_000 + number)
                    })
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 { group.addTask { try await ground.tellAll() } }
                try await group.waitForAll()
            }
            let events = try await ground.events()
            #expect(events.map(\.number) == Array(1...1_200))
            let positions = events.compactMap {
                (try? JSON.parse($0.text))?["position"]?.integer
            }
            #expect(positions == Array(1...1_200))
        }
    }
}
