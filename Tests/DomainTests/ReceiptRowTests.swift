import Domain
import Testing

@Suite("Rows of receipts")
struct ReceiptRowTests {
    private static let day: Int64 = 86_400_000

    private static func at(_ day: Int64) -> Instant {
        Instant(milliseconds: 1_600_000_000_000 + day * Self.day)
    }

    private static func row(
        _ id: String, from: Int64, until: Int64?, asked: Int64 = 100, partial: Bool = false,
        _ change: (inout TransactionStatement) -> Void = { _ in }
    ) -> TransactionStatement {
        var statement = TransactionStatement(
            transaction: id, original: "1", bundle: "com.example", product: "pro",
            purchasedAt: at(from), signedAt: at(asked), environment: Environment("Production"))
        statement.expiresAt = until.map(at)
        statement.isPartial = partial
        change(&statement)
        return statement
    }

    private static func line(_ statements: [(TransactionStatement, Source)]) -> Line {
        var lines: Set<Line> = []
        for order in [statements, statements.reversed()] {
            var subscription = Subscription(.line(Environment("Production"), "1"))
            for (index, (statement, source)) in order.enumerated() {
                let name = statements.firstIndex { $0 == (statement, source) } ?? 0
                let observation = Observation(
                    transaction: Stated(
                        statement, Fingerprint(hex: String(repeating: "\(name)a", count: 32))),
                    source: source, observedAt: statement.signedAt)
                for event in decide(observation, given: subscription) {
                    subscription.apply(
                        Entry(
                            position: Position(Int64(index + 1)), revision: Int64(index + 1),
                            recordedAt: statement.signedAt, event: event))
                }
            }
            var line = subscription.line()
            line.position = .start
            lines.insert(line)
        }
        #expect(lines.count == 1, "the order of arrival matters")
        return lines.first ?? Subscription(.settings).line()
    }

    @Test("that share one purchase date begin where the one before ended")
    func restored() {
        let first = Self.row("1", from: 50, until: 10) { $0.originallyPurchasedAt = Self.at(3) }
        let line = Self.line([
            (Self.row("3", from: 50, until: 30), .receipt), (first, .receipt),
            (Self.row("2", from: 50, until: 20), .receipt),
        ])
        #expect(line.periods.map(\.from) == [3, 10, 20].map(Self.at))
        #expect(line.periods.map(\.until) == [10, 20, 30].map(Self.at))
    }

    @Test("carry a restore date when it is not before their end, or when others share it")
    func restoreDates() {
        let late = Self.line([
            (Self.row("1", from: 0, until: 10), .receipt),
            (Self.row("2", from: 25, until: 20), .receipt),
        ])
        #expect(late.periods.map(\.from) == [0, 10].map(Self.at))
        let first = Self.row("1", from: 8, until: 10) { $0.originallyPurchasedAt = Self.at(1) }
        let shared = Self.line([(first, .receipt), (Self.row("2", from: 8, until: 20), .receipt)])
        #expect(shared.periods.map(\.from) == [1, 10].map(Self.at))
        // Rows of one period, from two answers, share theirs rightly.
        let same = Self.line([
            (Self.row("1", from: 8, until: 10), .receipt),
            (Self.row("1", from: 8, until: 10, asked: 90), .receipt),
        ])
        #expect(same.periods.map(\.from) == [Self.at(8)])
    }

    @Test("keep a purchase date that a signed copy states")
    func signed() {
        let line = Self.line([
            (Self.row("1", from: 5, until: 10), .receipt),
            (Self.row("2", from: 50, until: 20, asked: 90), .receipt),
            (Self.row("2", from: 12, until: 20), .app),
        ])
        #expect(line.periods.map(\.from) == [5, 12].map(Self.at))
    }

    @Test("of a receipt's own file take no revocation back, full ones do")
    func partial() {
        let revoked = Self.row("1", from: 0, until: 30, asked: 20) { $0.revokedAt = Self.at(15) }
        let partial = Self.row("1", from: 0, until: 30, asked: 40, partial: true)
        let full = Self.row("1", from: 0, until: 30, asked: 40)
        #expect(
            Self.line([(revoked, .notification), (partial, .receipt)]).periods.first?.until
                == Self.at(15))
        #expect(
            Self.line([(revoked, .notification), (full, .receipt)]).periods.first?.until
                == Self.at(30))
    }

    @Test("of one permanent purchase are one period from its original purchase on")
    func permanent() {
        let copies: [Int64] = [0, 20, 40]
        let line = Self.line(
            copies.map { day in
                (
                    Self.row("\(day + 1)", from: day, until: nil) {
                        $0.originallyPurchasedAt = Self.at(0)
                    }, .receipt
                )
            })
        #expect(line.periods.count == 1)
        #expect(line.periods.first?.from == Self.at(0))
        #expect(line.periods.first?.aliases == ["1", "21", "41"])
    }

    @Test("leave open what lies between two that do not meet, unless a renewal info says")
    func gap() {
        let rows: [(TransactionStatement, Source)] = [
            (Self.row("1", from: 0, until: 7), .receipt),
            (Self.row("9", from: 70, until: 77), .receipt),
        ]
        #expect(Self.line(rows).periods.map(\.flags) == [[], ["gap_unknown"]])
        let signed = rows.map { ($0.0, Source.app) }
        #expect(Self.line(signed).periods.map(\.flags) == [[], []])
    }
}
