import AppStore
import Crypto
import Diagnostics
import Domain
import Foundation
import Ledger
import Operation
import Postgres
import Synchronization

/// `import …`: evidence in bulk, as JSON lines.
///
/// Running it again after an interruption appends only what is not held yet.
struct Importing {
    let invocation: Invocation
    let configuration: Configuration

    /// How many lines are in work at once; Apple is not asked about as many.
    private var width: Int { invocation.command == .importReceipts ? 8 : 512 }
    /// The longest line. Units: bytes.
    private var longest: Int { readsReceipts ? 64 << 20 : 1 << 20 }
    private var readsReceipts: Bool {
        [.importReceipts, .importResponses].contains(invocation.command)
    }

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    private struct Tally: Sendable {
        var appended = 0
        var known = 0
        var quarantined: [String: Int] = [:]
    }

    private enum Fate: Sendable {
        case appended, known
        case quarantined(String)
    }

    /// What a line is judged and recorded with.
    private struct Means: Sendable {
        let interpreter: Interpreter
        let writer: Writer
        let held: HeldStore
        let desk: ReceiptDesk
    }

    func run() async throws(DaemonError) -> ExitCode {
        let interpreter = try configuration.interpreter()
        let ground = try await Ground.open(configuration, migrate: true)
        let writer = ground.writer()
        let progress = Progress("import", unit: "lines")
        var tally = Tally()
        do throws(DaemonError) {
            let means = Means(
                interpreter: interpreter, writer: writer, held: HeldStore(ground.writePool),
                desk: try ReceiptDesk(
                    ground, interpreter: interpreter, checks: nil, writer: writer,
                    metrics: MetricRegistry()))
            try await SettingsRecorder(configuration: configuration).settle(writer, adopt: false)
            for file in invocation.arguments {
                try await importLines(of: file, into: means, progress, &tally)
            }
        } catch {
            await writer.close()
            await ground.close()
            throw error
        }
        progress.finish()
        await writer.close()
        await ground.close()
        report(tally)
        return .done
    }

    private func importLines(
        of file: String, into means: Means, _ progress: Progress, _ tally: inout Tally
    ) async throws(DaemonError) {
        let lines = try LineReader(file, longest: longest)
        var number = 0
        while true {
            var page: [(number: Int, bytes: [UInt8])] = []
            while page.count < width, let bytes = try lines.next() {
                number += 1
                if !bytes.isEmpty { page.append((number, bytes)) }
            }
            guard !page.isEmpty else { return }
            let fates = await withTaskGroup(of: (Int, Result<Fate, DaemonError>).self) { group in
                for (number, bytes) in page {
                    group.addTask {
                        do throws(DaemonError) {
                            let fate = try await take(
                                bytes, file, number, into: means)
                            return (number, .success(fate))
                        } catch {
                            return (number, .failure(error))
                        }
                    }
                }
                var fates: [(Int, Result<Fate, DaemonError>)] = []
                for await fate in group { fates.append(fate) }
                return fates.sorted { $0.0 < $1.0 }
            }
            for (_, fate) in fates {
                switch try fate.get() {
                case .appended: tally.appended += 1
                case .known: tally.known += 1
                case .quarantined(let reason): tally.quarantined[reason, default: 0] += 1
                }
            }
            progress.advance(by: Int64(page.count))
        }
    }

    private func take(
        _ bytes: [UInt8], _ file: String, _ number: Int, into means: Means
    ) async throws(DaemonError) -> Fate {
        let json: JSON
        let presenter: String?
        var receipt: ReceiptLine?
        let now = SystemClock.now
        do {
            json = try JSON.parse(bytes)
            presenter = try json["customer"].map { _ in
                try Reading.customer(Reading.text(json, "customer"))
            }
            if readsReceipts {
                receipt = try ReceiptLine(
                    json, presenter: presenter,
                    isAnswer: invocation.command == .importResponses, now: now)
            }
        } catch {
            let why = (error as? Problem)?.detail ?? (error as? JSONError)?.message ?? "\(error)"
            throw .badLine(file: file, line: number, why: why)
        }
        if let receipt { return try await take(receipt, file, number, means.desk) }
        switch outcome(json, means.interpreter, now) {
        case .none:
            throw .badLine(
                file: file, line: number,
                why: invocation.command == .importNotifications
                    ? "the member `signedPayload` is missing"
                    : "neither `signedTransaction` nor `signedRenewalInfo` is there")
        case .observation(let observation, let evidence):
            let proposal = Observing.proposal(observation, evidence, presenter: presenter)
            do throws(AppendError) {
                return try await means.writer.append(proposal).count > 0 ? .appended : .known
            } catch {
                throw .append(error)
            }
        case .held(let reason, let detail, let evidence):
            do throws(PostgresError) {
                _ = try await means.held.keep(
                    Observing.evidence(evidence, source: .app, receivedAt: now),
                    reason: reason.rawValue, detail: detail, presenter: presenter,
                    draw: Ground.draw)
            } catch {
                throw .database(error)
            }
            return .quarantined(reason.rawValue)
        case .forged(let forgery, _): return .quarantined(forgery.rawValue)
        case .malformed: return .quarantined("malformed")
        }
    }

    private func take(_ line: ReceiptLine, _ file: String, _ number: Int, _ desk: ReceiptDesk)
        async throws(DaemonError) -> Fate
    {
        do throws(ReceiptDesk.Failure) {
            switch try await line.take(desk) {
            case .appended(let count): return count > 0 ? .appended : .known
            case .quarantined(let reason): return .quarantined(reason)
            }
        } catch {
            if case .append(let error) = error { throw .append(error) }
            throw .appleUnavailable(file: file, line: number, why: error.words)
        }
    }

    private func outcome(_ json: JSON, _ interpreter: Interpreter, _ now: Instant) -> Outcome? {
        if invocation.command == .importNotifications {
            return json["signedPayload"]?.text.map {
                interpreter.notification(Array($0.utf8), receivedAt: now)
            }
        }
        if let text = json["signedTransaction"]?.text {
            return interpreter.transaction(Array(text.utf8), receivedAt: now)
        }
        return json["signedRenewalInfo"]?.text.map {
            interpreter.renewalInfo(Array($0.utf8), receivedAt: now)
        }
    }

    private func report(_ tally: Tally) {
        let reasons = tally.quarantined.sorted { $0.key < $1.key }
        let quarantined = reasons.map(\.value).reduce(0, +)
        if invocation.has("json") {
            Commands.write(
                JSON(members: [
                    "appended": .integer(Int64(tally.appended)),
                    "known": .integer(Int64(tally.known)),
                    "quarantined": .object(
                        reasons.map { .init($0.key, .integer(Int64($0.value))) }),
                ]))
            return
        }
        print(
            "appended \(tally.appended), already known \(tally.known), quarantined \(quarantined)")
        for (reason, count) in reasons { print("  \(reason): \(count)") }
    }
}

/// Reads a file, or standard input, line by line.
final class LineReader {
    private let handle: FileHandle
    private let file: String
    private let longest: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false

    /// A reader; `-` is standard input.
    init(_ file: String, longest: Int) throws(DaemonError) {
        self.file = file
        self.longest = longest
        if file == "-" {
            handle = .standardInput
        } else if let opened = FileHandle(forReadingAtPath: file) {
            handle = opened
        } else {
            throw .fileUnusable(file, why: "there is no such file, or it may not be read")
        }
    }

    /// The next line without its end; `nil` after the last.
    func next() throws(DaemonError) -> [UInt8]? {
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return Array(buffer[start..<end])
            }
            if isAtEnd {
                defer { start = buffer.count }
                return start < buffer.count ? Array(buffer[start...]) : nil
            }
            guard buffer.count - start <= longest else {
                throw .fileUnusable(file, why: "a line is longer than \(longest) bytes")
            }
            buffer.removeFirst(start)
            start = 0
            let more = handle.readData(ofLength: 1 << 20)
            if more.isEmpty { isAtEnd = true }
            buffer.append(contentsOf: more)
        }
    }
}
