import Domain
import HTTP
import Operation
import TestSigner
import Testing

@testable import Daemon

@Suite("A metric over HTTP")
struct MetricTests {
    private func june(_ service: TestService, _ more: String = "") async throws
        -> TestService.Answer
    {
        try await service.ask(
            "GET", "/v1/metrics/revenue?from=2025-06-01&to=2025-07-01\(more)")
    }

    private func bytes(_ answer: TestService.Answer) -> [UInt8] {
        guard case .bytes(let bytes) = answer.response.body else { return [] }
        return bytes
    }

    @Test("is the same to the byte as known at a position, whatever is learnt later")
    func repeatable() async throws {
        try await TestService.run { service in
            let bought = try await service.post(
                service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
            guard let position = bought["position"]?.integer else {
                Issue.record("no position")
                return
            }
            let then = try await june(service, "&asKnownPosition=\(position)")
            let revoked: [JSON.Member] = [
                .init("revocationDate", .integer(Instant("2025-06-10")!.milliseconds)),
                .init("revocationReason", .integer(0)),
            ]
            _ = try await service.post(
                service.transaction(
                    "1001", from: "2025-06-01", until: "2025-07-01", signed: "2025-06-11",
                    more: revoked))
            let again = try await june(service, "&asKnownPosition=\(position)")
            #expect(bytes(then) == bytes(again))
            #expect(then["rows"]?.elements?.first?["net"] == .integer(9_990))
            #expect(try await june(service)["rows"]?.elements?.first?["net"] == .integer(0))
        }
    }

    @Test("begins its days where the zone's begin, and cuts a window into them")
    func zones() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction(
                    "1001", from: "2025-05-31T16:00:00Z", until: "2025-07-01"))
            for (zone, gross) in [("UTC", 0), ("Asia/Tokyo", 9_990)] as [(String, Int64)] {
                let rows = try await june(service, "&zone=\(zone)")["rows"]?.elements
                #expect(rows?.first?["gross"] == .integer(gross), "\(zone)")
            }
            let days = try await service.ask(
                "GET",
                "/v1/metrics/new_paid?from=2025-05-30&to=2025-06-03&by=day&zone=Asia/Tokyo")
            let rows = (days["rows"]?.elements ?? []).map {
                "\($0["key"]?["day"]?.text ?? "-") \($0["value"]?.integer ?? -1)"
            }
            #expect(rows == ["2025-06-01 1"])
        }
    }

    @Test("is CSV when that is asked for")
    func csv() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
            let answer = try await service.ask(
                "GET", "/v1/metrics/active_paid?at=2025-06-10&by=product,app",
                headers: [Header("Accept", "text/csv")])
            #expect(
                String(decoding: bytes(answer), as: UTF8.self)
                    == "app,product,value\r\ncom.example.app,pro.monthly,1\r\n")
        }
    }

    @Test("is refused by the name of what is wrong, and needs an analyst")
    func refused() async throws {
        try await TestService.run { service in
            _ = try await service.post(
                service.transaction("1001", from: "2025-06-01", until: "2025-07-01"))
            let wrong: [(String, Int, String)] = [
                ("revenues?at=2025-06-01", 404, "revenues"),
                ("mrr?from=2025-06-01&to=2025-07-01", 400, "takes `at`"),
                ("revenue?at=2025-06-01", 400, "takes `from` and `to`"),
                ("revenue?from=2025-06-01", 400, "`from` and `to` are missing"),
                ("revenue?from=2025-07-01&to=2025-06-01", 400, "after"),
                ("revenue?from=2025-06-01&to=2025-07-01&by=shoe", 400, "shoe"),
                ("revenue?from=2025-06-01&to=2025-07-01&by=reason", 400, "reason"),
                ("revenue?from=1990-01-01&to=2025-07-01&by=day", 400, "1000 days"),
                ("revenue?from=2025-06-01&to=2025-07-01&basis=mine", 400, "basis"),
                ("mrr?at=2025-06-01&zone=Mars/Base", 400, "zone"),
                ("revenue?from=2025-06-01&to=2025-07-01&currency=EUR", 422, "USD"),
            ]
            for (path, status, words) in wrong {
                let answer = try await service.ask("GET", "/v1/metrics/" + path)
                #expect(answer.status == status, "\(path)")
                #expect(answer["detail"]?.text?.contains(words) == true, "\(path)")
            }
            let reader = try await service.key([.read])
            let forbidden = try await service.ask("GET", "/v1/metrics", key: reader)
            #expect(forbidden.status == 403)
            let listed = try await service.ask("GET", "/v1/metrics")
            #expect((listed["metrics"]?.elements?.count ?? 0) > 30)
            let revenue = listed["metrics"]?.elements?.first { $0["name"]?.text == "revenue" }
            #expect(revenue?["takes"]?.elements?.compactMap(\.text) == ["from", "to", "basis"])
            #expect(revenue?["options"]?.elements?.compactMap(\.text) == ["currency"])
        }
    }
}
