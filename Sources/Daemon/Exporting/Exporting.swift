import Analytics
import Domain
import Foundation
import Ledger

/// `export TABLE`: a table as it is known at a position, to standard output or into a folder.
///
/// Into a folder it is written file by file; running it again after an interruption goes on behind
/// the last whole one, at the same position.
struct Exporting {
    let invocation: Invocation
    let configuration: Configuration

    /// About how many rows a file has: it ends with the line that reaches them.
    private static let usualRows: Int64 = 200_000
    /// The most entries that are read at once.
    private static let mostAtOnce: Int64 = 2_000

    init(_ invocation: Invocation, _ configuration: Configuration) {
        self.invocation = invocation
        self.configuration = configuration
    }

    /// What is asked for, read before a database is started for it.
    private struct Order {
        var table: ExportTable
        var format: TableWriter.Format
        var environment: Domain.Environment
        var rowsPerFile: Int64
        var knowledge: KnowledgeOption
    }

    func run() async throws(DaemonError) -> ExitCode {
        let order = try order()
        return try await Commands.withGround(configuration) { ground throws(DaemonError) in
            let position = try await order.knowledge.resolved(ground.reader).position
            guard let output = invocation.value("output") else {
                try await print(order, ground.reader, upTo: position)
                return .done
            }
            let folder = try ExportFolder(output)
            var manifest = Manifest(
                table: order.table, format: order.format.rawValue,
                environment: order.environment.name, app: invocation.value("app"),
                position: position)
            if let begun = try folder.manifest() {
                let isOfPosition = !order.knowledge.isGiven || begun.position == position
                guard manifest.isSame(as: begun), isOfPosition else {
                    throw .fileUnusable(
                        output, why: "it holds an export of something else; name another folder")
                }
                manifest = begun
            }
            try await write(order, ground.reader, folder, &manifest)
            report(manifest)
            return .done
        }
    }

    private func order() throws(DaemonError) -> Order {
        let name = invocation.arguments[0]
        guard let table = ExportTable(rawValue: name) else {
            let known = ExportTable.allCases.map(\.rawValue).joined(separator: ", ")
            throw .badQuestion("there is no table \"\(name)\"; there are \(known)")
        }
        let format = invocation.value("format").flatMap(TableWriter.Format.init(rawValue:))
        let isNarrowed = invocation.value("app") != nil || invocation.value("environment") != nil
        guard table != .entries || !isNarrowed else {
            throw .badQuestion("entries are exported as a whole, without --app or --environment")
        }
        let rows = invocation.position("rows-per-file") ?? Exporting.usualRows
        guard rows > 0 else { throw .badQuestion("--rows-per-file is at least 1") }
        do throws(Problem) {
            let environment = try invocation.value("environment").map { text throws(Problem) in
                try Reading.environment(text)
            }
            return Order(
                table: table, format: format ?? .csv, environment: environment ?? .production,
                rowsPerFile: rows, knowledge: try KnowledgeOption(invocation))
        } catch {
            throw .badQuestion(error.detail)
        }
    }

    private func reader(
        _ order: Order, _ reader: LedgerReader, upTo position: Position,
        after place: ExportReader.Place? = nil
    ) -> ExportReader {
        ExportReader(
            order.table, reader, upTo: position, environment: order.environment,
            app: invocation.value("app"), after: place)
    }

    private func print(_ order: Order, _ ledger: LedgerReader, upTo position: Position)
        async throws(DaemonError)
    {
        var rows = reader(order, ledger, upTo: position)
        var writer = TableWriter(order.format, order.table)
        try writeOut(writer.begin())
        while let part = try await next(&rows, atMost: Exporting.mostAtOnce) {
            try writeOut(writer.write(part.rows))
        }
        try writeOut(writer.end())
    }

    private func writeOut(_ bytes: [UInt8]) throws(DaemonError) {
        do {
            try FileHandle.standardOutput.write(contentsOf: bytes)
        } catch {
            throw .fileUnusable("standard output", why: "\(error.localizedDescription)")
        }
    }

    private func next(_ rows: inout ExportReader, atMost count: Int64)
        async throws(DaemonError) -> ExportReader.Part?
    {
        do throws(LedgerError) {
            return try await rows.next(atMost: count)
        } catch {
            throw .ledger(error)
        }
    }

    private func write(
        _ order: Order, _ ledger: LedgerReader, _ folder: ExportFolder, _ manifest: inout Manifest
    ) async throws(DaemonError) {
        guard !manifest.isComplete else { return }
        let progress = Progress("export", unit: "rows")
        progress.advance(by: manifest.rows)
        var rows = reader(
            order, ledger, upTo: manifest.position, after: manifest.files.last?.end)
        while let file = try await write(&rows, order, folder, manifest.files.count + 1, progress) {
            manifest.files.append(file)
            try folder.write(manifest)
        }
        manifest.isComplete = true
        try folder.write(manifest)
        progress.finish()
    }

    /// Writes one file; `nil` when there are no more rows.
    private func write(
        _ rows: inout ExportReader, _ order: Order, _ folder: ExportFolder, _ number: Int,
        _ progress: Progress
    ) async throws(DaemonError) -> Manifest.File? {
        guard var part = try await next(&rows, atMost: order.rowsPerFile) else { return nil }
        let digits = String(number)
        let zeros = String(repeating: "0", count: max(0, 6 - digits.count))
        let name = "\(order.table.rawValue)-\(zeros)\(digits).\(order.format.rawValue)"
        let file = try PartFile(folder, name)
        var writer = TableWriter(order.format, order.table)
        try file.write(writer.begin())
        var count: Int64 = 0
        while true {
            try file.write(writer.write(part.rows))
            count += Int64(part.rows.count)
            progress.advance(by: Int64(part.rows.count))
            guard count < order.rowsPerFile,
                let more = try await next(&rows, atMost: order.rowsPerFile - count)
            else { break }
            part = more
        }
        try file.write(writer.end())
        let digest = try file.finish()
        return Manifest.File(
            name: name, rows: count, bytes: file.byteCount, digest: digest, end: part.place)
    }

    private func report(_ manifest: Manifest) {
        if invocation.has("json") { return Commands.write(manifest.json) }
        Swift.print(
            "\(manifest.rows) rows of \(manifest.table.rawValue) in \(manifest.files.count) files, "
                + "as known at position \(manifest.position)")
    }
}
