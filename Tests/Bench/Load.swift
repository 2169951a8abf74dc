import Foundation
import Glibc

/// What a load came to.
struct LoadResult: Sendable {
    /// Answers with status 200.
    var good = 0
    /// Answers with another status, by status.
    var others: [Int: Int] = [:]
    var seconds = 0.0
    /// From when each request was due to its answer's last byte, sorted. Units: milliseconds.
    var latencies: [Double] = []
    /// The size of the last answer's body.
    var bodySize = 0

    /// Good answers in a second.
    var rate: Double { Double(good) / seconds }

    /// The latency that so many of a hundred do not exceed.
    func percentile(_ percent: Double) -> Double {
        guard !latencies.isEmpty else { return 0 }
        return latencies[min(latencies.count - 1, Int(Double(latencies.count) * percent / 100))]
    }
}

/// Requests over keep-alive connections, one at a time on each.
struct Load: Sendable {
    let port: UInt16
    let connections: Int
    let requests: [[UInt8]]
    /// How long at most; each request is sent once when it is `nil`, at random otherwise.
    var seconds: Double?
    /// How many requests are due in a second, answered or not; `nil`: as soon as one is answered.
    var rate: Double?

    /// Runs on a thread of its own.
    func run() async throws -> LoadResult {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var run = try LoadRun(self)
                        return try run.result()
                    })
            }
        }
    }
}

/// One run of a load, on one thread.
private struct LoadRun {
    private struct Client {
        var socket: Int32
        var dueAt = 0.0
        var isBusy = false
        var received: [UInt8] = []
    }

    private let load: Load
    private var clients: [Client] = []
    private var idle: [Int] = []
    private var sent = 0
    private var outcome = LoadResult()
    private var random = SystemRandomNumberGenerator()
    private var polled: [pollfd] = []
    private let start = ContinuousClock.now

    init(_ load: Load) throws {
        self.load = load
        for place in 0..<load.connections {
            let socket = try LoadRun.connected(to: load.port)
            polled.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
            clients.append(Client(socket: socket))
            idle.append(place)
        }
    }

    private static func connected(to port: UInt16) throws -> Int32 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failed = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard failed == 0 else { throw BenchError.unexpected("no connection to port \(port)") }
        var one: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(4))
        return socket
    }

    mutating func result() throws -> LoadResult {
        defer {
            for client in clients { close(client.socket) }
        }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            try sendWhatIsDue()
            if isOver, idle.count == clients.count { break }
            // Late answers would hide behind a longer wait while requests are due by the clock.
            guard poll(&polled, nfds_t(polled.count), load.rate == nil ? 1_000 : 1) >= 0 else {
                throw BenchError.unexpected("poll: \(errno)")
            }
            for place in polled.indices where polled[place].revents != 0 {
                try receive(place, &buffer)
            }
            guard start.secondsSince < (load.seconds ?? 600) + 30 else {
                throw BenchError.unexpected("the load was not answered in time")
            }
        }
        outcome.seconds = start.secondsSince
        outcome.latencies.sort()
        return outcome
    }

    private var isOver: Bool {
        load.seconds.map { start.secondsSince >= $0 } ?? (sent >= load.requests.count)
    }

    private mutating func sendWhatIsDue() throws {
        while !idle.isEmpty, !isOver {
            let now = start.secondsSince
            var dueAt = now
            if let rate = load.rate {
                dueAt = Double(sent) / rate
                guard dueAt <= now else { return }
            }
            let request =
                load.seconds == nil
                ? sent : Int.random(in: 0..<load.requests.count, using: &random)
            sent += 1
            let place = idle.removeLast()
            clients[place].dueAt = dueAt
            clients[place].isBusy = true
            try send(load.requests[request], on: clients[place].socket)
        }
    }

    private func send(_ bytes: [UInt8], on socket: Int32) throws {
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                Glibc.send(
                    socket, raw.baseAddress.map { $0 + offset }, raw.count - offset,
                    Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw BenchError.unexpected("a request was not taken") }
            offset += count
        }
    }

    private mutating func receive(_ place: Int, _ buffer: inout [UInt8]) throws {
        let count = recv(clients[place].socket, &buffer, buffer.count, 0)
        guard count > 0 else { throw BenchError.unexpected("the server closed a connection") }
        clients[place].received += buffer[..<count]
        guard let (status, body) = LoadRun.answer(clients[place].received) else { return }
        clients[place].received.removeAll(keepingCapacity: true)
        clients[place].isBusy = false
        idle.append(place)
        outcome.latencies.append((start.secondsSince - clients[place].dueAt) * 1_000)
        outcome.bodySize = body
        if status == 200 {
            outcome.good += 1
        } else {
            outcome.others[status, default: 0] += 1
        }
    }

    /// Status and body's size of an answer; `nil` until it is complete.
    private static func answer(_ bytes: [UInt8]) -> (Int, Int)? {
        var status = 0
        var length = 0
        var lineStart = 0
        while let end = bytes[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[lineStart..<end]
            if lineStart == 0 {
                status = number(line.dropFirst(9).prefix(3))
            } else if line.starts(with: lengthName) {
                length = number(line.dropFirst(lengthName.count))
            } else if line.count == 1 {
                return bytes.count >= end + 1 + length ? (status, length) : nil
            }
            lineStart = end + 1
        }
        return nil
    }

    private static let lengthName = Array("Content-Length: ".utf8)

    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.prefix { $0 &- 0x30 < 10 }.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
    }
}
