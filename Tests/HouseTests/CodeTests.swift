import Testing

@Suite("Error codes")
struct CodeTests {
    /// Every literal `"SLnnn"` in the sources, with where it is.
    private static func literals() throws -> [(code: String, place: String)] {
        try House.files(in: "Sources", endings: [".swift"]).flatMap { file in
            file.lines.enumerated().flatMap { number, line in
                line.matches(of: #/"(SL\d{3})"/#)
                    .map { (String($0.output.1), "\(file.path):\(number + 1)") }
            }
        }
    }

    @Test("are each spelt in one place")
    func unique() throws {
        let places = Dictionary(grouping: try Self.literals(), by: \.code)
        let twice = places.filter { $0.value.count > 1 }
        #expect(twice.map { "\($0.key): \($0.value.map(\.place))" } == [])
    }

    @Test("each have one section in the runbook, and no section is without its code")
    func runbook() throws {
        let codes = Set(try Self.literals().map(\.code))
        let sections = House.text("ops/runbook.md").matches(of: #/(?m)^## (SL\d{3}) \S/#)
            .map { String($0.output.1) }
        #expect(sections.count == Set(sections).count)
        #expect(codes.subtracting(sections).sorted() == [])
        #expect(Set(sections).subtracting(codes).sorted() == [])
    }
}
