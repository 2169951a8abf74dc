import Domain
import EventLoop
import Foundation
import StoreSimulator

/// `store-simulator`: a stand-in for Apple's servers.
struct Simulating {
    private let invocation: Invocation

    /// Where it listens unless told otherwise.
    private static let usualAddress = ListenAddress(host: "127.0.0.1", port: 9090)

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    /// Runs until SIGTERM or SIGINT.
    func run() async -> ExitCode {
        let options: Simulator.Options
        do throws(UsageError) {
            options = try self.options()
        } catch {
            Program.complain("\(error)")
            return .usage
        }
        let signals = EventLoop(name: "signals")
        let ending = Ending()
        EventLoop.onSignal([SIGTERM, SIGINT], on: signals) { _ in ending.begin() }
        let simulator: Simulator
        do throws(SimulatorError) {
            simulator = try Simulator(options)
        } catch {
            Program.complain("subledger: \(error)")
            if case .badScenario = error { return .usage }
            return .failed
        }
        announce(simulator, options)
        await ending.wait()
        await simulator.stop()
        return .done
    }

    private func announce(_ simulator: Simulator, _ options: Simulator.Options) {
        let address = ListenAddress(host: options.host, port: simulator.port)
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "listen": .string("\(address)"),
                    "issuerId": .string(simulator.credentials.issuerId),
                    "keyId": .string(simulator.credentials.keyId),
                ]))
        } else {
            print("listening on http://\(address)")
            print("root \(options.directory)/root.der, key \(options.directory)/AuthKey.p8,")
            print("key id \(simulator.credentials.keyId), issuer \(simulator.credentials.issuerId)")
        }
        fflush(nil)
    }

    private func options() throws(UsageError) -> Simulator.Options {
        guard let directory = invocation.value("directory") else {
            throw refused("--directory says where certificates and keys are written")
        }
        var options = Simulator.Options(directory: directory)
        let text = invocation.value("listen") ?? "\(Self.usualAddress)"
        guard let address = ListenAddress(text) else {
            throw refused("--listen is written HOST:PORT, found \"\(text)\"")
        }
        options.host = address.host
        options.port = address.port
        options.notify = invocation.value("notify")
        options.clock = try factor("clock")
        options.retries = try factor("retries")
        if let text = invocation.value("start") {
            guard let start = Instant(text) else {
                throw refused(
                    "--start is an instant such as 2025-01-01T00:00:00Z, found \"\(text)\"")
            }
            options.start = start
        }
        if let file = invocation.value("scenario") { options.scenario = try scenario(file) }
        return options
    }

    private func factor(_ name: String) throws(UsageError) -> Double? {
        guard let text = invocation.value(name) else { return nil }
        guard let factor = Double(text), factor >= 0, factor.isFinite else {
            throw refused("--\(name) is a number from 0, found \"\(text)\"")
        }
        return factor
    }

    private func scenario(_ file: String) throws(UsageError) -> Scenario {
        guard let data = FileManager.default.contents(atPath: file),
            let text = String(bytes: data, encoding: .utf8)
        else { throw refused("\(file): there is no such file, or it is no text") }
        let node: ConfigurationNode
        do throws(JSON5Parser.Failure) {
            node = try JSON5Parser.parse(text)
        } catch {
            throw refused("\(file):\(error.line):\(error.column): \(error.problem)")
        }
        do throws(SimulatorError) {
            return try Scenario(node.json)
        } catch {
            throw refused("\(file): \(error)")
        }
    }

    private func refused(_ message: String) -> UsageError {
        UsageError(message: message, topic: "store-simulator")
    }
}

extension ConfigurationNode {
    /// The value without where it was written.
    var json: JSON {
        switch value {
        case .null: .null
        case .bool(let truth): .bool(truth)
        case .integer(let number): .integer(number)
        case .number(let spelling): .number(spelling)
        case .text(let text): .string(text)
        case .list(let items): .array(items.map(\.json))
        case .object(let members): .object(members.map { JSON.Member($0.name, $0.node.json) })
        }
    }
}
