import Delivery
import Domain
import EventLoop
import HTTP

/// Answers with what there is and what comes, as Server-Sent Events.
///
/// One page at a time is held for each reader. One that does not read is cut by the server when
/// what waits for it has waited too long; it goes on with `Last-Event-ID`.
///
/// - Source: WHATWG HTML, "Server-sent events".
struct LiveStream: Sendable {
    /// One thing that is told.
    struct Item: Sendable {
        var id: Int64
        var event: String
        /// A text without line breaks.
        var data: [UInt8]
    }

    let bell: Bell
    let loop: EventLoop
    let ending: Ending

    /// So many are read at a time.
    static let pageSize = 100
    /// A comment is sent when nothing else was for so long.
    private static let heartbeat = Duration.seconds(15)

    /// Whether a request asks for a stream.
    static func isWanted(_ request: Request) -> Bool {
        request.header("Accept")?.lowercased().contains("text/event-stream") == true
    }

    /// Where a stream goes on: behind what the client has seen, else where the query says.
    static func start(_ request: Request, after: Int64) throws(Problem) -> Int64 {
        guard let text = request.header("Last-Event-ID"), !text.isEmpty else { return after }
        guard let number = Int64(text), number >= 0 else {
            throw .badRequest(
                "`Last-Event-ID` must be a whole number, found \"\(text.prefix(60))\"")
        }
        return number
    }

    /// The stream of what `page` gives after a place: what was found, and how far it looked.
    func response(
        after start: Int64,
        page: @escaping @Sendable (Int64) async throws(Problem) -> (items: [Item], seen: Int64)
    ) -> Response {
        Response(
            status: 200,
            headers: [
                Header("Content-Type", "text/event-stream"), Header("Cache-Control", "no-store"),
            ],
            body: .stream { writer in
                try await writer.write(Array(": the ledger\n\n".utf8))
                var place = start
                var quietSince = ContinuousClock.now
                while true {
                    // What was there before the end is told before it ends.
                    let isLast = ending.hasBegun
                    let rung = bell.count
                    let found = try await page(place)
                    place = max(place, found.seen)
                    if !found.items.isEmpty {
                        try await writer.write(LiveStream.text(found.items))
                        quietSince = .now
                    }
                    if isLast { break }
                    if found.items.count == LiveStream.pageSize { continue }
                    let left = LiveStream.heartbeat - quietSince.duration(to: .now)
                    await bell.wait(since: rung, on: loop, atMost: max(left, .zero))
                    if quietSince.duration(to: .now) >= LiveStream.heartbeat {
                        try await writer.write(Array(":\n\n".utf8))
                        quietSince = .now
                    }
                    // What comes together is read together.
                    if !ending.hasBegun { try await loop.sleep(for: .milliseconds(5)) }
                }
            })
    }

    private static func text(_ items: [Item]) -> [UInt8] {
        var text: [UInt8] = []
        for item in items {
            text += "id: \(item.id)\nevent: \(item.event)\ndata: ".utf8
            text += item.data
            text += "\n\n".utf8
        }
        return text
    }
}
