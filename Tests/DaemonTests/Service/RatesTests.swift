import Domain
import Foundation
import Testing

@testable import Daemon

@Suite("Exchange rates")
struct RatesTests {
    private func write(_ service: TestService, _ lines: [String]) throws -> String {
        let path = service.configuration.dataDirectory + "/rates-\(UUID().uuidString).csv"
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func record(_ service: TestService, _ lines: [String]) async throws {
        let invocation = Invocation(
            command: .importRates, options: ["json": []], arguments: [try write(service, lines)])
        _ = try await ImportingRates(invocation, service.configuration).run()
    }

    /// The code of the error that ends a command.
    private func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? DaemonError)?.code
        }
    }

    private func positions(_ service: TestService) async throws -> [Int64] {
        let answer = try await service.ask("GET", "/v1/entries?kind=rateSet")
        return (answer["entries"]?.elements ?? []).compactMap { $0["position"]?.integer }
    }

    private let header = "Date,USD,GBP,CYP,"

    @Test("are recorded once, however often they are imported, and corrected by a new entry")
    func imported() async throws {
        try await TestService.run { service in
            let lines = [header, "2025-06-10,1.1429,0.8434,N/A,", "2025-06-09,1.1411,0.8420,N/A,"]
            try await record(service, lines)
            let first = try await positions(service)
            #expect(first.count == 2)
            try await record(service, lines)
            #expect(try await positions(service) == first)
            try await record(
                service, ["Date, USD, GBP, ", "10 June 2025, 1.1430, 0.84340, "])
            let entries = try await service.ask("GET", "/v1/entries?kind=rateSet")
            let last = entries["entries"]?.elements?.last
            #expect(entries["entries"]?.elements?.count == 3)
            #expect(last?["stream"]?.text == "rates/EUR/2025")
            let values = last?["body"]?["rates"]?["values"]
            // What stays as it was is not said again.
            #expect(values == JSON(members: ["USD": .string("1.143")]))
            // The older days came first.
            let days = (entries["entries"]?.elements ?? []).compactMap {
                $0["body"]?["rates"]?["day"]?.text
            }
            #expect(days == ["2025-06-09", "2025-06-10", "2025-06-10"])
        }
    }

    @Test("are refused as a file when a line of it is wrong, before anything is recorded")
    func refused() async throws {
        try await TestService.run { service in
            let wrong: [([String], String)] = [
                ([header, "2025-06-10,1.1429,0.8434,N/A,", "2025-06-09,x,0.8420,N/A,"], "SL033"),
                (["Day,USD"], "SL033"), ([], "SL031"),
                ([header, "2025-06-10,1,1,N/A,", "10 June 2025,1,1,N/A,"], "SL031"),
            ]
            for (lines, code) in wrong {
                #expect(await failure { try await record(service, lines) } == code, "\(lines)")
            }
            let recorded = try await positions(service)
            #expect(recorded == [])
        }
    }

    @Test("convert money by the day on which it was paid, as they were known at a position")
    func conversion() async throws {
        try await TestService.run { service in
            // Saturday, 7 June; the rate is Friday's.
            _ = try await service.post(
                service.transaction("1001", from: "2025-06-07", until: "2025-07-07"))
            let path = "/v1/metrics/revenue?from=2025-06-01&to=2025-07-01&currency=GBP"
            let missing = try await service.ask("GET", path)
            #expect(missing.status == 422)
            #expect(missing["code"]?.text == "SL140")
            let pairs = (missing["missing"]?.elements ?? []).map {
                "\($0["currency"]?.text ?? "") \($0["day"]?.text ?? "")"
            }
            #expect(pairs == ["GBP 2025-06-07", "USD 2025-06-07"])
            try await record(
                service, [header, "2025-06-06,1.1411,0.8420,N/A,", "2025-06-09,9,9,N/A,"])
            let answer = try await service.ask("GET", path)
            let rows = answer["rows"]?.elements
            #expect(rows?.count == 1)
            #expect(rows?.first?["key"] == .object([]))
            // 9990 × 0.8420 / 1.1411 = 7371.46…
            #expect(rows?.first?["gross"] == .integer(7_371))
            let positions = try await positions(service)
            #expect(
                answer["completeness"]?["ratesPosition"]?.integer == positions.last)
            try await record(service, [header, "2025-06-06,1.1411,0.9000,N/A,"])
            let corrected = try await service.ask("GET", path)
            // 9990 × 0.9 / 1.1411 = 7879.24…
            #expect(corrected["rows"]?.elements?.first?["gross"] == .integer(7_879))
            let then = try await service.ask(
                "GET", path + "&asKnownPosition=\(positions.last ?? 0)")
            #expect(then["rows"]?.elements?.first?["gross"] == .integer(7_371))
            #expect(then["completeness"]?["ratesPosition"]?.integer == positions.last)
            let same = try await service.ask(
                "GET", "/v1/metrics/revenue?from=2025-06-01&to=2025-07-01&currency=USD")
            #expect(same["rows"]?.elements?.first?["gross"] == .integer(9_990))
            let odd = try await service.ask(
                "GET", "/v1/metrics/revenue?from=2025-06-01&to=2025-07-01&currency=usd")
            #expect(odd.status == 400)
        }
    }
}
