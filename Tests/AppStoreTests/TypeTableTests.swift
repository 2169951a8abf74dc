import Domain
import TestLives
import TestSigner
import Testing

@testable import AppStore

@Suite("Apple's word of each kind")
struct TypeTableTests {
    private let sample: Sample

    init() throws { sample = try Sample() }

    private func observation(_ message: Message, _ place: Int) throws -> Observation {
        let text = try message.signed(by: sample.store, place)
        let receivedAt = message.signedAt.adding(milliseconds: 1000)
        let outcome = sample.notify(text, at: receivedAt)
        return try #require(outcome.observation, "\(outcome.reason ?? "")")
    }

    @Test("does what Apple says it does, and no more", arguments: TypeRow.all)
    func effects(_ row: TypeRow) throws {
        var heard: [Observation] = []
        for (place, message) in (row.before + [row.message]).enumerated() {
            heard.append(try observation(message, place))
        }
        let last = try #require(heard.last)
        let stream = try #require(last.stream)
        let before = recorded(heard.dropLast().filter { $0.stream == stream }, stream: stream)
        #expect(decide(last, given: before).map(\.kind) == row.kinds)
        #expect(last.notice?.type == row.message.type)
        #expect(last.notice?.subtype == row.message.subtype)
        #expect(last.notice?.flags == (row.message.type == "NEW_TYPE" ? ["unknown_type"] : []))
        let line = StreamID.line(.production, row.line)
        let told = heard.filter { $0.stream == line }
        for order in [told, told.reversed()] {
            #expect(recorded(order, stream: line).line().summary(at: row.instant) == row.effect)
        }
    }

    @Test("has a row here for every type that is known")
    func complete() {
        let told = Set(TypeRow.all.map(\.message.type))
        #expect(Envelope.knownTypes.subtracting(told) == [])
        #expect(told.subtracting(Envelope.knownTypes) == ["NEW_TYPE"])
    }
}
