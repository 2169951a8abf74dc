public import Domain

/// A table that is written out as a whole, in an order that does not change.
public enum ExportTable: String, Sendable, Hashable, CaseIterable {
    /// Spans of access that were charged for, line by line.
    case periods
    /// The record itself, in the order of positions.
    case entries
    /// Money that moved: purchases, refunds and reversals, line by line.
    case movements

    /// A column.
    public struct Column: Sendable, Hashable {
        /// Its name, as in the views of schema `report`.
        public var name: String
        /// What its cells are; each may also be empty.
        public var kind: Kind

        /// What a column's cells are.
        public enum Kind: Sendable, Hashable {
            case text, integer, truth
            /// In UTC, to the millisecond.
            case instant
        }

        init(_ name: String, _ kind: Kind) {
            self.name = name
            self.kind = kind
        }
    }

    /// One value of a row.
    public enum Cell: Sendable, Hashable {
        case text(String)
        case integer(Int64)
        case truth(Bool)
        case instant(Instant)
        case empty

        init(_ text: String?) { self = text.map(Cell.text) ?? .empty }
        init(_ number: Int64?) { self = number.map(Cell.integer) ?? .empty }
        init(_ instant: Instant?) {
            guard let instant, instant != .distantFuture, instant != .distantPast else {
                self = .empty
                return
            }
            self = .instant(instant)
        }
    }

    /// The columns in their order.
    public var columns: [Column] {
        switch self {
        case .periods: PeriodColumns.all.map(\.column)
        case .entries: EntryColumns.all.map(\.column)
        case .movements: MovementColumns.all.map(\.column)
        }
    }
}

/// A column with how its cell is read from what a row is of.
struct ExportColumn<Row: Sendable>: Sendable {
    let column: ExportTable.Column
    let cell: @Sendable (Row) -> ExportTable.Cell

    static func text(_ name: String, _ read: @escaping @Sendable (Row) -> String?) -> Self {
        Self(column: ExportTable.Column(name, .text)) { ExportTable.Cell(read($0)) }
    }

    static func integer(_ name: String, _ read: @escaping @Sendable (Row) -> Int64?) -> Self {
        Self(column: ExportTable.Column(name, .integer)) { ExportTable.Cell(read($0)) }
    }

    static func instant(_ name: String, _ read: @escaping @Sendable (Row) -> Instant?) -> Self {
        Self(column: ExportTable.Column(name, .instant)) { ExportTable.Cell(read($0)) }
    }

    static func truth(_ name: String, _ read: @escaping @Sendable (Row) -> Bool) -> Self {
        Self(column: ExportTable.Column(name, .truth)) { .truth(read($0)) }
    }
}
