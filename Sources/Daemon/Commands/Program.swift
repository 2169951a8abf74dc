import Diagnostics
import Foundation

/// The program: reads the command line and runs the command.
public enum Program {
    /// Runs the command that the arguments name.
    ///
    /// - Parameter arguments: what follows the program's name.
    /// - Returns: the exit code.
    public static func run(_ arguments: [String]) async -> Int32 {
        let request: CommandLineRequest
        do throws(UsageError) {
            request = try CommandLineParser.request(arguments)
        } catch {
            complain("\(error)")
            return ExitCode.usage.rawValue
        }
        switch request {
        case .help(let text):
            print(text)
            return ExitCode.done.rawValue
        case .run(let invocation):
            return await run(invocation).rawValue
        }
    }

    private static func run(_ invocation: Invocation) async -> ExitCode {
        // It has no ledger, and so no configuration.
        if invocation.command == .storeSimulator {
            guard setLogLevel(for: invocation.command) else { return .usage }
            return await Simulating(invocation).run()
        }
        let configuration: Configuration
        do throws(ConfigurationError) {
            configuration = try ConfigurationLoader.load(invocation)
        } catch {
            complain("\(error)")
            return .usage
        }
        guard setLogLevel(for: invocation.command) else { return .usage }
        // The daemon ends in its own order.
        if invocation.command != .serve { Interruption.watch() }
        do throws(DaemonError) {
            let code = try await run(invocation, configuration)
            Interruption.yield()
            return code
        } catch {
            Interruption.yield()
            complain("subledger: \(error.code) \(error)")
            switch error {
            case .settingsDiffer, .fileUnusable, .badQuestion, .serverAPIUnusable: return .usage
            case .refused(let problem): return problem.status == 422 ? .failed : .usage
            default: return .failed
            }
        }
    }

    private static func run(_ invocation: Invocation, _ configuration: Configuration)
        async throws(DaemonError) -> ExitCode
    {
        switch invocation.command {
        case .serve:
            return try await Serve(invocation: invocation, configuration: configuration).run()
        case .migrate: return try await Commands.migrate(configuration)
        case .importNotifications, .importTransactions, .importReceipts, .importResponses:
            return try await Importing(invocation, configuration).run()
        case .importRates: return try await ImportingRates(invocation, configuration).run()
        case .backfill: return try await Backfilling(invocation, configuration).run()
        case .reconcile: return try await Reconciling(invocation, configuration).run()
        case .entitlements, .timeline:
            return try await Asking(invocation, configuration).run()
        case .metrics: return try await Measuring(invocation, configuration).run()
        case .export: return try await Exporting(invocation, configuration).run()
        case .replay: return try await Replaying(invocation, configuration).run()
        case .projectionsList, .projectionsRebuild, .projectionsVerify, .projectionsRollback,
            .projectionsCancel:
            return try await ProjectionCommands(invocation, configuration).run()
        case .quarantineList, .quarantineShow, .quarantineReprocess:
            return try await QuarantineCommands(invocation, configuration).run()
        case .keysCreate, .keysList, .keysRevoke:
            return try await KeyCommands(invocation, configuration).run()
        case .verify: return try await Verifying(invocation, configuration).run()
        case .doctor: return await Doctor(invocation, configuration).run()
        case .storeSimulator: return await Simulating(invocation).run()
        }
    }

    /// A command's results need no account of how it got them; the daemon's keepers want one.
    private static func setLogLevel(for command: Command) -> Bool {
        let name = ProcessInfo.processInfo.environment["SUBLEDGER_LOG_LEVEL"] ?? ""
        guard !name.isEmpty else {
            Log.standard.setMinimum(command == .serve ? .info : .warning)
            return true
        }
        guard let level = LogLevel(rawValue: name) else {
            let known = LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            complain("SUBLEDGER_LOG_LEVEL is one of \(known), not \"\(name)\"")
            return false
        }
        Log.standard.setMinimum(level)
        return true
    }

    /// Writes a line to standard error.
    static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
