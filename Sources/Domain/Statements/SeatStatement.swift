/// What a transaction says of the seats that it bought.
///
/// - Source: Apple, `multiSeatInfo`.
public struct SeatStatement: Sendable, Hashable {
    /// What so many of the seats cost each.
    public struct Tier: Sendable, Hashable {
        /// The price of one seat. Units: milliunits of the transaction's currency.
        public var priceMilliunits: Int64
        /// How many seats have that price.
        public var quantity: Int64

        /// So many seats of one price.
        public init(priceMilliunits: Int64, quantity: Int64) {
            self.priceMilliunits = priceMilliunits
            self.quantity = quantity
        }
    }

    /// The prices of the seats.
    public var tiers: [Tier]
    /// APPLE, DEVELOPER or a value not known yet: who hands the seats out.
    public var invitationManagement: String?
    /// How many of the seats were taken back.
    public var revokedQuantity: Int64?

    /// A statement of these parts.
    public init(
        tiers: [Tier] = [], invitationManagement: String? = nil, revokedQuantity: Int64? = nil
    ) {
        self.tiers = tiers
        self.invitationManagement = invitationManagement
        self.revokedQuantity = revokedQuantity
    }

    /// What all seats cost; `nil` without tiers, or beyond 64 bits.
    var totalMilliunits: Int64? {
        tiers.isEmpty
            ? nil
            : tiers.reduce(0) { sum, tier in
                sum?.adding(tier.priceMilliunits.times(tier.quantity))
            }
    }

    /// This statement with a newer copy's members laid over it (R3): seats taken back are a
    /// revocation, which only the newest copy says.
    func overlaid(by newer: SeatStatement?) -> SeatStatement {
        let stated = newer?.tiers ?? []
        return SeatStatement(
            tiers: stated.isEmpty ? tiers : stated,
            invitationManagement: newer?.invitationManagement ?? invitationManagement,
            revokedQuantity: newer?.revokedQuantity)
    }
}

extension TransactionStatement {
    /// Whether it bought seats.
    var isOfSeats: Bool { seats != nil || additionalReason == "SEAT_ADDITION" }

    /// What was paid in all: of seats, Apple's price is the average of one.
    var paidMilliunits: Int64? {
        guard isOfSeats else { return priceMilliunits }
        return seats?.totalMilliunits ?? priceMilliunits?.times(quantity ?? 1)
    }
}

extension Int64 {
    /// The sum; `nil` beyond 64 bits.
    func adding(_ other: Int64?) -> Int64? {
        guard let other else { return nil }
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? nil : sum
    }

    /// The product; `nil` beyond 64 bits.
    func times(_ other: Int64) -> Int64? {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? nil : product
    }
}
