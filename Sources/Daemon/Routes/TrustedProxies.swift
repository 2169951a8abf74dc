import HTTP

/// Proxies whose word about a client's address is believed.
struct TrustedProxies: Sendable {
    let ranges: [AddressRange]

    /// The address of whoever made a request: the last one that no trusted proxy has.
    func client(of request: Request) -> String {
        guard isTrusted(request.peer) else { return request.peer }
        let named = request.headers("x-forwarded-for").joined(separator: ",")
            .split(separator: ",").map { $0[...].trimmingSpaces() }
        return named.last { !isTrusted($0) } ?? request.peer
    }

    private func isTrusted(_ address: String) -> Bool {
        ranges.contains { $0.contains(address) }
    }
}
