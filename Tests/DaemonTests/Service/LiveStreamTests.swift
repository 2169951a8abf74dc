import Domain
import Foundation
import HTTP
import Testing

@testable import Daemon

@Suite("A live stream")
struct LiveStreamTests {
    /// The ids, kinds and data of a stream's events.
    private func parts(_ body: [UInt8]) -> [(id: String, event: String, data: JSON)] {
        String(decoding: body, as: UTF8.self).components(separatedBy: "\n\n").compactMap { block in
            let lines = block.split(separator: "\n")
            guard lines.count == 3 else { return nil }
            let values = zip(lines, ["id: ", "event: ", "data: "]).map { line, name in
                line.hasPrefix(name) ? String(line.dropFirst(name.count)) : "?"
            }
            let data = (try? JSON.parse(Array(values[2].utf8))) ?? .null
            return (values[0], values[1], data)
        }
    }

    @Test(
        "gives what there is behind the last one seen and what comes, and ends whole",
        arguments: ["events", "entries"])
    func goesOn(_ feed: String) async throws {
        try await TestService.run { service in
            let server = try service.listen()
            let client = Client()
            let first = try await service.post(
                service.transaction("1001", from: day(-40), until: day(-10)),
                service.transaction("1002", from: day(-10), until: day(20)))
            _ = try await service.events(level: first)
            async let streamed = client.send(
                "GET", "http://127.0.0.1:\(server.port)/v1/\(feed)",
                headers: [
                    Header("Authorization", "Bearer \(service.key)"),
                    Header("Accept", "text/event-stream"), Header("Last-Event-ID", "1"),
                ], limit: 1 << 20, within: .seconds(60))
            let second = try await service.post(
                service.transaction("2001", line: "2001", from: day(-1), until: day(20)))
            _ = try await service.events(level: second)
            service.ending.begin()
            let answer = try await streamed
            #expect(answer.header("Content-Type") == "text/event-stream")
            let whole = try await service.ask("GET", "/v1/\(feed)?after=1")
            let expected = whole[feed]?.elements ?? []
            let found = parts(answer.body)
            #expect(found.map(\.data) == expected)
            #expect(found.map(\.event) == expected.compactMap { $0["kind"]?.text })
            #expect(expected.count >= 2 && found.first?.id == "2")
            await server.stop(within: .seconds(1))
        }
    }

    @Test("goes on behind a number only")
    func badPlace() async throws {
        try await TestService.run { service in
            let answer = try await service.ask(
                "GET", "/v1/events",
                headers: [Header("Accept", "text/event-stream"), Header("Last-Event-ID", "x")])
            #expect(answer.status == 400)
        }
    }
}
