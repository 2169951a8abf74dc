import Domain
import EventLoop
import HTTP

/// Delivers notifications, and tries again as Apple does.
///
/// - Source: Apple, Responding to App Store Server Notifications: five more attempts in Production,
///   none in Sandbox.
actor Courier {
    /// From an attempt to the next. Units: hours.
    static let delays: [Int64] = [1, 12, 24, 48, 72]
    private static let lanes = 8
    private static let patience = Duration.seconds(10)

    private let store: Store
    private let url: String
    private let loop: EventLoop
    private let client = Client()
    private var lanes: [Task<Void, Never>?] = Array(repeating: nil, count: Courier.lanes)

    init(store: Store, url: String, loop: EventLoop) {
        self.store = store
        self.url = url
        self.loop = loop
    }

    /// Sees to it that a parcel is delivered; parcels of one lane leave in order.
    func take(_ parcel: Parcel) {
        guard parcel.heldBack == 0 else {
            let later = parcel.atOnce
            wait(.milliseconds(parcel.heldBack)) { await self.take(later) }
            return
        }
        let lane = parcel.lane % Self.lanes
        let before = lanes[lane]
        lanes[lane] = Task {
            await before?.value
            await attempt(parcel, number: 0)
            if parcel.isDoubled { _ = await send(parcel) }
        }
    }

    private func attempt(_ parcel: Parcel, number: Int) async {
        let result = await send(parcel)
        let isLast = result == "SUCCESS" || !parcel.mayRetry || number >= Self.delays.count
        await store.note(result, of: parcel.notice, isLast: isLast)
        guard !isLast else { return }
        let factor = await store.retryFactor
        let delay = Double(Self.delays[number] * 3_600) / factor
        wait(.milliseconds(Int64(delay * 1_000))) {
            await self.attempt(parcel, number: number + 1)
        }
    }

    /// One attempt; how it ended, as the store spells it.
    private func send(_ parcel: Parcel) async -> String {
        let body = JSON(members: ["signedPayload": .string(parcel.text)])
        do throws(ClientError) {
            let answer = try await client.send(
                "POST", url, headers: [Header("Content-Type", "application/json")],
                body: body.bytes(), limit: 64 * 1_024, within: Self.patience)
            return (200...206).contains(answer.status)
                ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        } catch {
            switch error {
            case .timedOut: return "TIMED_OUT"
            case .untrusted: return "TLS_ISSUE"
            case .unreachable: return "SOCKET_ISSUE"
            case .broken: return "PREMATURE_CLOSE"
            case .tooLarge: return "INVALID_RESPONSE"
            case .busy, .cancelled, .unusable: return "OTHER"
            }
        }
    }

    /// Does something later, unless the loop ends before.
    private func wait(_ time: Duration, _ body: @escaping @Sendable () async -> Void) {
        Task { [loop] in
            do throws(CancellationError) {
                try await loop.sleep(for: time)
            } catch {
                return
            }
            await body()
        }
    }
}
