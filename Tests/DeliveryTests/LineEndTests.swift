import Delivery
import Testing

@testable import Domain

@Suite("The ends of a line")
struct LineEndTests {
    private func period(
        _ from: String, _ until: String, grace: String? = nil, ending: Period.Ending = .expiry
    ) -> Period {
        Period(
            transaction: from, aliases: [from], webOrderLineItem: nil, bundle: "com.example.app",
            product: "pro", group: nil, shape: .subscription, purchasedAt: Instant(from)!,
            from: Instant(from)!, expiresAt: Instant(until)!, until: Instant(until)!,
            ending: ending, grace: grace.map { .named(until: Instant($0)!) }, retries: [],
            periodClass: .paid, priceMilliunits: nil, currency: nil, ownership: nil, token: nil,
            reason: nil, revokedAt: ending == .revocation ? Instant(until) : nil,
            isRefunded: false, refundShare: nil, isUpgraded: false, seatPayments: [],
            installment: nil, moneyBack: [], extensions: [], flags: [])
    }

    private func ends(_ periods: Period...) -> [LineEnd] {
        Line(
            stream: .line(.production, "1001"), position: .start, periods: periods, intents: [],
            claims: [], previousOriginal: nil
        ).ends(Settings())
    }

    @Test("are where nothing follows, not where a renewal does")
    func runs() {
        let found = ends(
            period("2025-05-01", "2025-06-01"), period("2025-06-01", "2025-07-01"),
            period("2025-08-01", "2025-09-01"))
        #expect(
            found == [
                LineEnd(.expired, Instant("2025-07-01")!),
                LineEnd(.expired, Instant("2025-09-01")!),
            ])
    }

    @Test("come with the end of grace, once")
    func grace() {
        let found = ends(period("2025-05-01", "2025-06-01", grace: "2025-06-17"))
        #expect(found == [LineEnd(.graceEnded, Instant("2025-06-17")!)])
    }

    @Test("do not come where a revocation ended access")
    func revoked() {
        #expect(ends(period("2025-05-01", "2025-05-10", ending: .revocation)) == [])
    }
}
