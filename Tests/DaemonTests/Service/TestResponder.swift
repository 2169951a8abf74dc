import EventLoop
import HTTP
import Synchronization
import TestSigner

/// An authority's responder on loopback that says what a test wants to hear.
final class TestResponder: Sendable {
    /// How it answers.
    enum Mode: Sendable {
        /// As these authorities would.
        case signing(StatusSigner)
        /// With a status and an empty body.
        case empty(Int)
    }

    /// The store whose certificates name this responder.
    let store: TestStore
    private let server: Server
    private let loop: EventLoop
    private let state: State

    private final class State: Sendable {
        let mode = Mutex((mode: Mode.signing(StatusSigner()), store: TestStore?.none, count: 0))
    }

    /// Runs a test with a responder.
    static func run(
        _ mode: Mode = .signing(StatusSigner()), _ body: (TestResponder) async throws -> Void
    ) async throws {
        let responder = try TestResponder(mode)
        do {
            try await body(responder)
        } catch {
            await responder.end()
            throw error
        }
        await responder.end()
    }

    private init(_ mode: Mode) throws {
        let state = State()
        let loop = EventLoop(name: "responder")
        server = try Server(
            host: "127.0.0.1", port: 0, on: [loop], bodyLimit: { _, _ in 10_000 }
        ) { request in
            let (mode, store) = state.mode.withLock { state in
                state.count += 1
                return (state.mode, state.store)
            }
            switch mode {
            case .empty(let status): return Response(status: status)
            case .signing(let signer):
                let isAsked =
                    request.method == "POST"
                    && request.header("Content-Type") == "application/ocsp-request"
                guard isAsked, let store,
                    let answer = signer.answer(to: request.body, about: store)
                else { return Response(status: 400) }
                return Response(status: 200, body: .bytes(answer))
            }
        }
        var chain = TestStore.Chain()
        chain.responder = "http://127.0.0.1:\(server.port)/status"
        store = try TestStore(chain)
        self.loop = loop
        self.state = state
        let made = store
        state.mode.withLock { state in
            state.mode = mode
            state.store = made
        }
    }

    /// Answers otherwise from now on.
    func answers(_ mode: Mode) { state.mode.withLock { $0.mode = mode } }

    /// How often it was asked.
    var count: Int { state.mode.withLock { $0.count } }

    /// Answers nobody any more.
    func end() async {
        await server.stop(within: .seconds(10))
        loop.stop()
    }
}
