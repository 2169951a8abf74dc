import Domain
import Ledger
import Postgres
import Projecting

/// What the projection `metrics` knows of a line, as rows.
struct MetricsOfLine {
    private let measured: MeasuredLine
    private let key: [Parameter]
    private let begun: Beginning?
    private let firstAt: Parameter
    private let paidAt: Parameter
    private let firstCurrency: Parameter
    private let stretches: [MeasuredLine.Stretch]
    private let happenings: [Happening]

    init(_ measured: MeasuredLine) {
        self.measured = measured
        let stream = measured.line.stream
        key = [.int2(Int16(Bucket.of(stream))), .text(stream.name)]
        begun = measured.beginning()
        firstAt = .int8(ifAny: begun.map { measured.period($0.period).purchasedAt.stored })
        paidAt = .int8(ifAny: begun?.paidAt?.stored)
        firstCurrency = .text(ifAny: begun?.currency)
        stretches = measured.stretches()
        happenings = measured.happenings()
    }

    func add(to rows: inout ProjectedRows) {
        addCoverage(to: &rows)
        addMovements(to: &rows)
        addTenures(to: &rows)
        addBeginning(to: &rows)
        addRetention(to: &rows)
    }

    private func addCoverage(to rows: inout ProjectedRows) {
        let firstPaidAt = Parameter.int8(ifAny: measured.firstPaidAt?.milliseconds)
        for stretch in stretches {
            let standing = stretch.standing
            rows.add(
                to: MetricsProjection.coverage,
                key + [
                    .int8(stretch.from.stored), .int8(stretch.until.stored), firstPaidAt,
                    .int8(ifAny: standing.price), .bool(standing.isInGrace),
                    .bool(standing.isEnded), .text(standing.kind.rawValue),
                    .text(ifAny: standing.outlook?.rawValue), .text(ifAny: standing.reason),
                    paidAt, firstCurrency,
                ] + measured.columns(standing.traits))
        }
    }

    private func addMovements(to rows: inout ProjectedRows) {
        for (number, happening) in happenings.enumerated() {
            rows.add(
                to: MetricsProjection.movements,
                key + [
                    .int8(Int64(number)), .int8(happening.at.stored),
                    .int8(happening.knownFrom.stored), .int8(happening.knownUntil.stored),
                    .int8(happening.marks), .int8(ifAny: happening.amount),
                    .int8(ifAny: happening.share), firstAt, paidAt, firstCurrency,
                ] + measured.columns(measured.traits(of: happening.period)))
        }
    }

    private func addTenures(to rows: inout ProjectedRows) {
        let money = LineMoney(happenings, measured)
        let present = stretches.compactMap { stretch in
            switch stretch.standing.kind {
            case .paid, .trial, .free: stretch.from..<stretch.until
            case .family, .retry: nil
            }
        }
        let paid = stretches.filter { $0.standing.kind == .paid }.map { $0.from..<$0.until }
        let told =
            money.columns(firstCurrency: begun?.currency)
            + (present + money.payments.map { $0..<$0.adding(milliseconds: 1) }).united.columns
            + paid.united.columns
        for belonging in measured.belongings() {
            let (number, isToken): (Int64?, Bool) =
                switch belonging.owner {
                case .token(let token): (token.number, true)
                case .customer(let customer): (customer.number, false)
                case nil: (nil, false)
                }
            rows.add(
                to: MetricsProjection.tenures,
                key + [
                    .int8(belonging.from.stored), .int8(belonging.until.stored),
                    .int8(ifAny: number), .bool(isToken), firstAt, paidAt,
                    .bool(begun?.hasTried ?? false), .bool(begun?.hasConverted ?? false),
                    .text(ifAny: begun.map { measured.period($0.period).transaction }),
                    firstCurrency,
                ] + told + measured.columns(belonging.traits))
        }
    }

    private func addBeginning(to rows: inout ProjectedRows) {
        guard let begun, let start = measured.line.start else { return }
        rows.add(
            to: MetricsProjection.beginnings,
            key + [
                .int8(start.stored), firstAt, paidAt, .bool(begun.hasTried),
                .bool(begun.hasConverted), .text(measured.period(begun.period).transaction),
                firstCurrency,
            ] + measured.columns(measured.traits(of: begun.period)))
    }

    private func addRetention(to rows: inout ProjectedRows) {
        guard let reached = measured.retention() else { return }
        let numbers = reached.numbers.filter { $0 <= MetricQuestion.mostPeriods }.sorted()
        rows.add(
            to: MetricsProjection.retentions,
            key + [
                .int8(measured.period(reached.first).purchasedAt.stored),
                .text(numbers.map(String.init).joined(separator: ",")),
            ] + measured.columns(measured.traits(of: reached.first)))
    }
}

/// The money of a line: what was paid in order of time, then what went back and came again.
private struct LineMoney {
    private let moved: [(happening: Happening, currency: String?)]

    init(_ happenings: [Happening], _ measured: MeasuredLine) {
        let order = [Fact.paid, .refunded, .reversed, .takenOut].flatMap { fact in
            happenings.filter { $0.marks & fact.mark != 0 && $0.amount != 0 }
                .sorted { $0.at < $1.at }
        }
        moved = order.map { ($0, $0.period.flatMap { measured.period($0).currency }) }
    }

    /// When something was paid.
    var payments: [Instant] { moved.filter { $0.happening.isPaid }.map(\.happening.at) }

    /// When it moved first, last and each time, amounts, facts, shares and currencies; what is the same
    /// of all is left out.
    func columns(firstCurrency: String?) -> [Parameter] {
        let isPaid = moved.allSatisfy { $0.happening.isPaid }
        let instants = moved.map(\.happening.at.stored)
        let isOfOne = moved.allSatisfy { $0.currency == firstCurrency }
        return [
            .int8(ifAny: instants.min()), .int8(ifAny: instants.max()), .int8s(instants),
            .int8s(moved.map { $0.happening.amount ?? 0 }),
            isPaid ? .null : .int8s(moved.map { $0.happening.marks & Happening.ofMoney }),
            isPaid ? .null : .int8s(moved.map { $0.happening.share ?? 0 }),
            isOfOne ? .null : .texts(moved.map(\.currency)),
        ]
    }
}

extension Happening {
    fileprivate static let ofMoney = [Fact.paid, .refunded, .reversed, .takenOut]
        .reduce(Int64(0)) { $0 | $1.mark }

    fileprivate var isPaid: Bool { marks & Fact.paid.mark != 0 }
}

extension [Range<Instant>] {
    /// The same time in order, without the seams.
    fileprivate var united: [Range<Instant>] {
        var found: [Range<Instant>] = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = found.last, range.lowerBound <= last.upperBound {
                found[found.count - 1] =
                    last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                found.append(range)
            }
        }
        return found
    }

    /// When they begin, and when they end.
    fileprivate var columns: [Parameter] {
        [.int8s(map(\.lowerBound.stored)), .int8s(map(\.upperBound.stored))]
    }
}
