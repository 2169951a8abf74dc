internal import CCurl
internal import Synchronization

/// A request that a client is to make.
final class Errand: Sendable {
    let method: String
    let url: String
    let headers: [Header]
    let body: [UInt8]
    let limit: Int
    let deadline: ContinuousClock.Instant
    /// Written within the courier's lock.
    let isAnswered = Atomic(false)

    init(
        method: String, url: String, headers: [Header], body: [UInt8], limit: Int,
        deadline: ContinuousClock.Instant
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.limit = limit
        self.deadline = deadline
    }
}

/// One request under way: a handle of libcurl, and what it has received.
final class Transfer {
    let errand: Errand
    let continuation: Courier.Continuation
    let handle: UnsafeMutableRawPointer
    private let headerLimit: Int
    private var fields: UnsafeMutablePointer<curl_slist>?
    private var headerBytes = 0
    private var headers: [Header] = []
    private var body: [UInt8] = []
    private var isTooLarge = false

    init(
        _ errand: Errand, _ continuation: Courier.Continuation, limits: Client.Limits,
        authorities: String?
    ) throws(ClientError) {
        guard let handle = curl_easy_init() else { throw .unusable("no memory for a request") }
        self.errand = errand
        self.continuation = continuation
        self.handle = handle
        headerLimit = limits.headerBytes
        try prepare(limits, authorities)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(fields)
    }

    private func prepare(_ limits: Client.Limits, _ authorities: String?) throws(ClientError) {
        let left = ContinuousClock.now.duration(to: errand.deadline)
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_TIMEOUT_MS, max(1, Int(left.inMilliseconds)))
        try set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(limits.connectTime.inMilliseconds)))
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_URL, errand.url)
        if let authorities { try set(CURLOPT_CAINFO, authorities) }
        try prepareMessage()
        let me = Unmanaged.passUnretained(self).toOpaque()
        try check(ccurl_set_pointer(handle, CURLOPT_HEADERDATA, me), "the reading")
        try check(ccurl_set_pointer(handle, CURLOPT_WRITEDATA, me), "the reading")
        try check(
            ccurl_set_reader(handle, CURLOPT_HEADERFUNCTION) { bytes, _, count, context in
                Transfer.behind(context)?.take(header: bytes, count) ?? 0
            }, "the reading")
        try check(
            ccurl_set_reader(handle, CURLOPT_WRITEFUNCTION) { bytes, _, count, context in
                Transfer.behind(context)?.take(body: bytes, count) ?? 0
            }, "the reading")
    }

    private func prepareMessage() throws(ClientError) {
        guard !errand.method.isEmpty, errand.method.utf8.allSatisfy({ $0 | 0x20 &- 0x61 < 26 })
        else { throw .unusable("the method is no word") }
        if errand.method == "HEAD" { try set(CURLOPT_NOBODY, 1) }
        if !errand.body.isEmpty || ["POST", "PUT", "PATCH"].contains(errand.method) {
            let code = errand.body.withUnsafeBytes { memory in
                // Without an address libcurl would wait for a body from elsewhere.
                memory.isEmpty
                    ? ccurl_set_body(handle, "", 0)
                    : ccurl_set_body(handle, memory.baseAddress, memory.count)
            }
            try check(code, "the body")
        }
        try set(CURLOPT_CUSTOMREQUEST, errand.method)
        // What libcurl would add of its own is taken out.
        var lines = ["Expect:"]
        if !errand.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            lines.append("Content-Type:")
        }
        for header in errand.headers {
            guard !header.name.isEmpty,
                (header.name + header.value).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { throw .unusable("a header field has a control character") }
            // A field with an empty value is written so; a colon would leave it out.
            lines.append(
                header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
        }
        for line in lines {
            guard let longer = curl_slist_append(fields, line) else {
                throw .unusable("no memory for the header fields")
            }
            fields = longer
        }
        try check(ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, fields), "the header fields")
    }

    private func set(_ option: CURLoption, _ value: Int) throws(ClientError) {
        try check(ccurl_set_long(handle, option, value), "option \(option.rawValue)")
    }

    private func set(_ option: CURLoption, _ value: String) throws(ClientError) {
        try check(ccurl_set_text(handle, option, value), "option \(option.rawValue)")
    }

    private func check(_ code: CURLcode, _ what: String) throws(ClientError) {
        guard code == CURLE_OK else {
            throw .unusable("\(what): \(String(cString: curl_easy_strerror(code)))")
        }
    }

    private static func behind(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Takes bytes of a header line; fewer than there are end the transfer.
    private func take(header bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        headerBytes += count
        guard headerBytes <= headerLimit else {
            isTooLarge = true
            return 0
        }
        let memory = UnsafeRawBufferPointer(start: bytes, count: count)
        let line = String(decoding: memory, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new head: what came before was an interim answer.
            headers = []
        } else if let colon = line.firstIndex(of: ":") {
            headers.append(
                Header(
                    String(line[..<colon]), Transfer.trimmed(line[line.index(after: colon)...])))
        }
        return count
    }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0.isWhitespace }
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { String(start[...$0]) } ?? ""
    }

    /// Takes bytes of the body; fewer than there are end the transfer.
    private func take(body bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard body.count + count <= errand.limit else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    /// What came of it.
    func result(_ code: CURLcode) -> Result<Client.Answer, ClientError> {
        let words = String(cString: curl_easy_strerror(code))
        switch code {
        case CURLE_OK:
            return .success(
                Client.Answer(
                    status: Int(ccurl_status(handle)), headers: headers, body: body))
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .failure(.unusable(words))
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return .failure(.unreachable(words))
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
            return .failure(.untrusted(words))
        case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut)
        default:
            return .failure(isTooLarge ? .tooLarge(limit: errand.limit) : .broken(words))
        }
    }
}
