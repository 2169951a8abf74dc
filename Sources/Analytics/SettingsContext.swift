import Domain
import Postgres

/// What entries of settings decide of projected rows.
struct SettingsContext {
    let entries: [Entry]

    /// The settings as a whole.
    var settings: Settings { entries.reduce(Settings()) { $0.evolved(by: $1) } }

    /// Asks whether no row of some tables would be another one by the settings of more entries.
    ///
    /// A row depends on the catalogue by its product alone; on other rules all rows may.
    func sameness(with newer: SettingsContext, generation: Int64, of tables: [String])
        -> Statement
    {
        let (old, new) = (settings, newer.settings)
        var instants: Set<Instant> = [.distantPast]
        var products: Set<String> = []
        for entry in newer.entries {
            switch entry.event.content {
            case .catalog(let change):
                instants.insert(change.validFrom ?? .distantPast)
                products.formUnion(change.products.keys)
            case .settings(let change): instants.insert(change.validFrom ?? .distantPast)
            default: break
            }
        }
        let changed = products.filter { product in
            instants.contains { Self.terms(product, old, $0) != Self.terms(product, new, $0) }
        }
        let isAll = instants.contains { instant in
            let (mine, others) = (old.rules(at: instant), new.rules(at: instant))
            return mine.graceDays != others.graceDays || mine.ownership != others.ownership
        }
        let conditions = tables.map {
            "not exists (select from projection.\($0) where generation = $1 "
                + "and ($2 or product = any($3)))"
        }
        return Statement(
            "select \(conditions.joined(separator: " and "))",
            [.int8(generation), .bool(isAll), .texts(changed.sorted())])
    }

    private static func terms(_ product: String, _ settings: Settings, _ instant: Instant)
        -> Product?
    {
        var terms = settings.product(product, at: instant)
        terms?.entitlements = []
        return terms
    }
}
