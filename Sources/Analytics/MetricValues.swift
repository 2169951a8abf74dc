extension MetricQuestion {
    /// The members of the answer's rows.
    public var members: [String] {
        metric == .mrrMovement && currency != nil ? metric.members + ["fx"] : metric.members
    }

    /// The members of a row as they are written, from sums.
    func values(_ sums: [String: ExactSum]) -> [MetricRow.Value] {
        switch metric {
        case .clockSkew:
            // Nothing is known of no notifications.
            return members.map { name in
                sums[name] == nil && name != "notifications"
                    ? MetricRow.Value(name: name, number: .null) : whole(name, sums[name])
            }
        case .churnRate: return [ratio(sums["churned"], sums["base"])]
        case .conversionToPaying: return [ratio(sums["converted"], sums["customers"])] + rest(sums)
        case .trialConversionByFirstSeen:
            return [ratio(sums["converted"], sums["trials"])] + rest(sums)
        case .subscriptionRetention:
            return [ratio(sums["retained"], sums["lines"])] + rest(sums)
        case .refundRateByValue: return [ratio(sums["refunded"], sums["paid"])] + rest(sums)
        case .arpu: return [part(sums["net"], of: sums["customers"], "value")] + rest(sums)
        case .arppu: return [part(sums["net"], of: sums["payers"], "value")] + rest(sums)
        case .realisedLTV:
            return [
                part(sums["net"], of: sums["customers"], "per_customer"),
                part(sums["net"], of: sums["payers"], "per_paying_customer"),
            ] + members.dropFirst(2).map { whole($0, sums[$0]) }
        case .refundRate:
            return [ratio(sums["refunded"], sums["transactions"])]
                + ["refunded", "transactions"].map { whole($0, sums[$0]) }
        case .revenue:
            var net = ExactSum()
            net.add(sums["gross"] ?? ExactSum())
            net.add(sums["refunded"] ?? ExactSum(), sign: -1)
            net.add(sums["reversed"] ?? ExactSum())
            var all = sums
            all["net"] = net
            return members.map { whole($0, all[$0]) }
        default: return members.map { whole($0, sums[$0]) }
        }
    }

    /// The members after the first as they are.
    private func rest(_ sums: [String: ExactSum]) -> [MetricRow.Value] {
        members.dropFirst().map { whole($0, sums[$0]) }
    }

    /// An amount for each of so many; there is none for nobody.
    private func part(_ amount: ExactSum?, of count: ExactSum?, _ name: String)
        -> MetricRow.Value
    {
        let part = (amount ?? ExactSum()).rounded(dividedBy: count ?? ExactSum())
        return MetricRow.Value(name: name, number: part.map(MetricRow.Number.whole) ?? .null)
    }

    private func whole(_ name: String, _ sum: ExactSum?) -> MetricRow.Value {
        MetricRow.Value(name: name, number: .whole(sum?.rounded ?? 0))
    }

    private func ratio(_ part: ExactSum?, _ base: ExactSum?) -> MetricRow.Value {
        let millionths = (part ?? ExactSum())
            .rounded(dividedBy: base ?? ExactSum(), scale: 1_000_000)
        return MetricRow.Value(
            name: "value", number: millionths.map(MetricRow.Number.millionths) ?? .null)
    }
}
