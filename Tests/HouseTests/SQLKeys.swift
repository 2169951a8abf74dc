/// Finds the keys that a script declares on tables of schema `ledger` that have a bucket.
enum SQLKeys {
    /// Every such key without the bucket, as `table (columns)` or `table column definition`.
    static func withoutBucket(in sql: String) -> [String] {
        let text = sql.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in line.firstRange(of: "--").map { line[..<$0.lowerBound] } ?? line }
            .joined(separator: " ").lowercased()
        var sharded: Set<String> = []
        var wrong: [String] = []
        for match in text.matches(
            of: #/create\s+table\s+(?:if\s+not\s+exists\s+)?(ledger\.\w+)\s*\(/#)
        {
            let items = items(text[match.range.upperBound...])
            guard items.contains(where: { $0.hasPrefix("bucket ") }) else { continue }
            let table = String(match.output.1)
            sharded.insert(table)
            for item in items { wrong += wrongKeys(of: item).map { "\(table) \($0)" } }
        }
        let later =
            #/create\s+unique\s+index\s+(?:\w+\s+)?on\s+(ledger\.\w+)\s*(?:using\s+\w+\s*)?(\([^)]*\))/#
        for match in text.matches(of: later) where sharded.contains(String(match.output.1)) {
            wrong += missing(match.output.2).map { "\(match.output.1) \($0)" }
        }
        let added =
            #/alter\s+table\s+(ledger\.\w+)\s+add\s[^;]*?(?:unique|primary\s+key)\s*(\([^)]*\))/#
        for match in text.matches(of: added) where sharded.contains(String(match.output.1)) {
            wrong += missing(match.output.2).map { "\(match.output.1) \($0)" }
        }
        return wrong
    }

    /// What is wrong with the key that a column or constraint declares, if it declares one.
    private static func wrongKeys(of item: String) -> [String] {
        if let match = item.firstMatch(of: #/(?:unique|primary\s+key)\s*(\([^)]*\))/#) {
            return missing(match.output.1)
        }
        guard item.contains(#/\b(unique|primary\s+key)\b/#) else { return [] }
        return item.hasPrefix("bucket ") ? [] : [item]
    }

    private static func missing(_ columns: Substring) -> [String] {
        columns.contains(#/\bbucket\b/#) ? [] : [String(columns)]
    }

    /// The parts between commas up to the parenthesis that closes, nested ones kept whole.
    private static func items(_ text: Substring) -> [String] {
        var items = [""]
        var depth = 0
        for character in text {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth < 0 { break }
            if character == ",", depth == 0 {
                items.append("")
            } else {
                items[items.count - 1].append(character)
            }
        }
        return items.map { item in
            item.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
    }
}
