import Analytics
import Domain

extension Restatement {
    var rendered: JSON {
        JSON(members: [
            "key": key.rendered, "changes": .array(changes.map(\.rendered)),
            "facts": .array(facts.map(\.rendered)), "factCount": .integer(Int64(factCount)),
        ])
    }
}

extension Restatement.Change {
    fileprivate var rendered: JSON {
        JSON(members: [
            "member": .string(member), "was": was.rendered, "is": `is`.rendered,
            "by": was.difference(to: `is`)?.rendered,
        ])
    }
}

extension Restatement.Fact {
    fileprivate var rendered: JSON {
        JSON(members: [
            "position": .integer(position.number), "kind": .string(kind.name),
            "line": .text(stream.line?.original),
            "stream": stream.line == nil ? .string(stream.name) : nil,
        ])
    }
}

extension MetricRow.Number {
    /// How much greater another one is; `nil` where one of them is none.
    fileprivate func difference(to other: MetricRow.Number) -> MetricRow.Number? {
        switch (self, other) {
        case (.whole(let was), .whole(let now)): .whole(now - was)
        case (.millionths(let was), .millionths(let now)): .millionths(now - was)
        case (.whole, _), (.millionths, _), (.null, _): nil
        }
    }
}
