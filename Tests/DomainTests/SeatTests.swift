import Domain
import TestLives
import Testing

@Suite("A period of seats")
struct SeatTests {
    /// Five seats from May 1 on, 4,600 each on average, and two more from May 11 on.
    private func seats(
        _ history: inout History, revoking: [String: String] = [:], signed: String? = nil
    ) {
        history.transaction(
            "1001", from: "2025-05-01", until: "2025-06-01", signed: signed
        ) {
            $0.quantity = 5
            $0.priceMilliunits = 4600
            $0.seats = SeatStatement(tiers: [
                SeatStatement.Tier(priceMilliunits: 5000, quantity: 3),
                SeatStatement.Tier(priceMilliunits: 4000, quantity: 2),
            ])
            $0.webOrderLineItem = "77"
            $0.revokedAt = revoking["1001"].map(at)
            if signed != nil { $0.additionalReason = "SEAT_ADDITION" }
        }
        added(&history, "1002", revoked: revoking["1002"], signed: signed)
    }

    private func added(
        _ history: inout History, _ id: String, revoked: String?, signed: String?
    ) {
        history.transaction(id, from: "2025-05-11", until: "2025-06-01", signed: signed) {
            $0.quantity = 2
            $0.priceMilliunits = 3000
            $0.seats = SeatStatement()
            $0.webOrderLineItem = "77"
            $0.additionalReason = "SEAT_ADDITION"
            $0.reason = "PURCHASE"
            $0.revokedAt = revoked.map(at)
        }
    }

    @Test("is one period, and each purchase of seats is a payment of it")
    func added() {
        var history = History()
        seats(&history)
        let line = history.told
        #expect(line.periods.count == 1)
        let period = line.periods[0]
        #expect(period.aliases == ["1001", "1002"] && period.transaction == "1001")
        #expect(period.from == at("2025-05-01") && period.until == at("2025-06-01"))
        #expect(period.payments.map(\.transaction) == ["1001", "1002"])
        #expect(period.payments.map(\.purchasedAt) == [at("2025-05-01"), at("2025-05-11")])
        #expect(period.payments.map(\.priceMilliunits) == [23_000, 6000])
        #expect(period.priceMilliunits == 29_000)
        #expect(period.seats == 7)
        #expect(period.refund == nil && period.revokedAt == nil)
    }

    @Test("goes on while one of its purchases is not revoked, whichever it is")
    func oneRevoked() {
        for (revoked, seats, refunded) in [("1001", 2, 23_000), ("1002", 5, 6000)] {
            var history = History()
            self.seats(&history)
            self.seats(
                &history, revoking: [revoked: "2025-05-20"], signed: "2025-05-20T00:00:05Z")
            let period = history.told.periods[0]
            #expect(history.entitlement(at: "2025-05-25").until == at("2025-06-01"))
            #expect(period.seats == Int64(seats) && period.revokedAt == nil && !period.isRefunded)
            #expect(period.refund?.priceMilliunits == Int64(refunded))
            #expect(period.refund?.at == at("2025-05-20"))
        }
    }

    @Test("ends when the last of its purchases is revoked, and both gave their money back")
    func allRevoked() {
        var history = History()
        seats(
            &history, revoking: ["1001": "2025-05-20", "1002": "2025-05-22"],
            signed: "2025-05-22T00:00:05Z")
        let period = history.told.periods[0]
        #expect(period.until == at("2025-05-22") && period.ending == .revocation)
        #expect(history.told.state(at: at("2025-05-22"), testSettings) == .revoked)
        #expect(
            period.refund
                == Refund(at: at("2025-05-22"), share: 100_000, priceMilliunits: 29_000))
        #expect(period.seats == 0)
        #expect(period.payments.compactMap(\.refund?.priceMilliunits) == [23_000, 6000])
    }

    @Test("is not kept by another device's copy of a purchase that was revoked")
    func copies() {
        var history = History()
        seats(&history)
        added(&history, "1003", revoked: nil, signed: "2025-05-23")
        seats(
            &history, revoking: ["1001": "2025-05-20", "1002": "2025-05-22"],
            signed: "2025-05-22T00:00:05Z")
        let period = history.told.periods[0]
        #expect(period.aliases == ["1001", "1002", "1003"] && period.payments.count == 2)
        #expect(period.until == at("2025-05-22"))
        #expect(period.priceMilliunits == 29_000)
    }

    @Test("that is no such period is ended by one revoked transaction, whatever its copies say")
    func noSeats() {
        var history = History()
        for (id, day, revoked) in [("1001", 20, "2025-05-20"), ("1002", 25, nil)] {
            history.transaction(
                id, from: "2025-05-01", until: "2025-06-01", signed: "2025-05-\(day)T00:00:05Z"
            ) {
                $0.webOrderLineItem = "77"
                $0.revokedAt = revoked.map(at)
            }
        }
        let period = history.told.periods[0]
        #expect(period.until == at("2025-05-20") && period.payments.count == 1)
        #expect(period.seats == nil && period.refund?.share == 100_000)
    }

    @Test("loses the seats that were taken back, and has them again when that is taken back")
    func partly() {
        var history = History()
        seats(&history)
        for (day, revoked) in [(20, 2), (21, nil)] {
            history.transaction(
                "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-\(day)"
            ) {
                $0.quantity = 5
                $0.seats = SeatStatement(revokedQuantity: revoked.map(Int64.init))
                $0.webOrderLineItem = "77"
                $0.priceMilliunits = nil
            }
            #expect(history.told.periods[0].seats == 7 - Int64(revoked ?? 0))
            #expect(history.entitlement(at: "2025-05-25").mayUse)
        }
        // The tiers are still those that the first copy stated.
        #expect(history.told.periods[0].priceMilliunits == 29_000)
    }

    @Test("does not have seats back because another device's copy says nothing of their loss")
    func partlyOnOneDevice() {
        var history = History()
        for (id, day, revoked) in [("1001", 20, 2), ("1002", 21, nil)] {
            history.transaction(
                id, from: "2025-05-01", until: "2025-06-01", signed: "2025-05-\(day)"
            ) {
                $0.quantity = 5
                $0.seats = SeatStatement(revokedQuantity: revoked.map(Int64.init))
                $0.webOrderLineItem = "77"
            }
        }
        #expect(history.told.periods.map(\.seats) == [3])
    }

    @Test("without tiers costs its seats' average times their number, and nothing known beyond")
    func withoutTiers() {
        for (price, quantity, paid) in [
            (4600, 5, 23_000), (4600, nil, 4600), (nil, 5, nil), (.max, 2, nil),
        ] as [(Int64?, Int64?, Int64?)] {
            var history = History()
            history.transaction("1001", from: "2025-05-01", until: "2025-06-01") {
                $0.seats = SeatStatement()
                $0.quantity = quantity
                $0.priceMilliunits = price
            }
            #expect(history.told.periods[0].priceMilliunits == paid)
        }
    }

    @Test("that was assigned to a member costs nothing and ends with the assignment")
    func assigned() {
        var history = History()
        history.transaction(
            "1001", from: "2025-05-01", until: "2025-06-01", signed: "2025-05-20T00:00:05Z"
        ) {
            $0.ownership = "ASSIGNED"
            $0.seats = SeatStatement(invitationManagement: "APPLE")
            $0.quantity = 5
            $0.revokedAt = at("2025-05-20")
            $0.revocationType = "ASSIGNMENT_REVOKE"
        }
        let period = history.told.periods[0]
        #expect(period.periodClass == .other && period.refund == nil)
        #expect(period.until == at("2025-05-20"))
    }

    @Test("is kept by a projection as it is")
    func kept() throws {
        var history = History()
        seats(&history)
        seats(&history, revoking: ["1002": "2025-05-20"], signed: "2025-05-20T00:00:05Z")
        let line = history.told
        let json = try JSON.parse(line.state)
        #expect(try Line(stream: line.stream, position: line.position, state: json) == line)
    }

    @Test("has shares of what was paid, rounded half to even")
    func shares() {
        for (price, share, refunded) in [
            (9990, 33_333, 3330), (1, 50_000, 0), (3, 50_000, 2), (Int64.max, 100_000, Int64.max),
        ] as [(Int64, Int64, Int64)] {
            var history = History()
            history.transaction("1001", from: "2025-05-01", until: "2025-06-01") {
                $0.priceMilliunits = price
                $0.revokedAt = at("2025-05-20")
                $0.revocationPercentage = share
            }
            #expect(history.told.periods[0].refund?.priceMilliunits == refunded)
        }
    }
}
