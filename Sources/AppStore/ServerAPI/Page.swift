import Domain

/// A part of a long answer.
public struct Page<Item: Sendable>: Sendable {
    /// What is on it, in Apple's order.
    public var items: [Item]
    /// What the next page, or a later run, is asked with; `nil` when Apple names nothing.
    public var cursor: String?
    /// Whether there is a next page now.
    public var hasMore: Bool
    /// The environment that the answer names; `nil` when it names none.
    public var environment: Environment?
}

/// The pages of a long answer, asked for one by one as they are taken.
///
/// - Shape: holds one page at a time.
public struct Pages<Item: Sendable>: Sendable {
    private let ask: @Sendable (String?) async throws(ServerAPIError) -> Page<Item>
    private var cursor: String?
    private var hasMore = true
    private var isStuck = false

    init(
        after cursor: String?,
        _ ask: @escaping @Sendable (String?) async throws(ServerAPIError) -> Page<Item>
    ) {
        self.cursor = cursor
        self.ask = ask
    }

    /// The next page; `nil` after the last.
    ///
    /// - Throws: `stuck` after a page that says that there is more and names no new cursor; what
    ///   is on that page was given before.
    public mutating func next() async throws(ServerAPIError) -> Page<Item>? {
        if isStuck { throw .stuck }
        guard hasMore else { return nil }
        let page = try await ask(cursor)
        hasMore = page.hasMore
        isStuck = page.hasMore && (page.cursor == nil || page.cursor == cursor)
        cursor = page.cursor ?? cursor
        return page
    }
}
