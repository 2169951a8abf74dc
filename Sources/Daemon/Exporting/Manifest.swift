import Analytics
import Domain

/// What a folder of an export holds: the files that are whole, and what they were made from.
struct Manifest: Equatable {
    /// The file in the folder.
    static let name = "manifest.json"

    var table: ExportTable
    var format: String
    var environment: String
    var app: String?
    /// Everything up to here is in the export.
    var position: Position
    var isComplete = false
    var files: [File] = []

    /// A file that is whole.
    struct File: Equatable {
        var name: String
        var rows: Int64
        var bytes: Int64
        /// SHA-256 of its bytes. Shape: 64 hex digits.
        var digest: String
        /// Where it ends: the next one begins behind it.
        var end: ExportReader.Place
    }

    /// How many rows its files have.
    var rows: Int64 { files.reduce(0) { $0 + $1.rows } }

    /// Whether it is of the same export: one that is begun can go on as it.
    func isSame(as other: Manifest) -> Bool {
        var mine = self
        (mine.position, mine.isComplete, mine.files) = (
            other.position, other.isComplete, other.files
        )
        return mine == other
    }

    var json: JSON {
        JSON(members: [
            "table": .string(table.rawValue), "format": .string(format),
            "environment": .string(environment), "app": .word(app),
            "position": .integer(position.number), "complete": .bool(isComplete),
            "rows": .integer(rows), "files": .array(files.map(\.json)),
        ])
    }

    init(
        table: ExportTable, format: String, environment: String, app: String?, position: Position
    ) {
        self.table = table
        self.format = format
        self.environment = environment
        self.app = app
        self.position = position
    }

    /// Reads what an earlier run wrote; `nil` when it is something else.
    init?(_ json: JSON) {
        guard let table = json["table"]?.text.flatMap(ExportTable.init(rawValue:)),
            let format = json["format"]?.text, let environment = json["environment"]?.text,
            let position = json["position"]?.integer, let isComplete = json["complete"]?.bool,
            let elements = json["files"]?.elements
        else { return nil }
        self.init(
            table: table, format: format, environment: environment, app: json["app"]?.text,
            position: Position(position))
        self.isComplete = isComplete
        for element in elements {
            guard let file = File(element) else { return nil }
            files.append(file)
        }
    }
}

extension Manifest.File {
    fileprivate var json: JSON {
        var members: [JSON.Member] = [
            .init("name", .string(name)), .init("rows", .integer(rows)),
            .init("bytes", .integer(bytes)), .init("sha256", .string(digest)),
        ]
        switch end {
        case .position(let position): members.append(.init("to", .integer(position.number)))
        case .stream(let stream): members.append(.init("throughStream", .string(stream.name)))
        }
        return .object(members)
    }

    fileprivate init?(_ json: JSON) {
        guard let name = json["name"]?.text, !name.contains("/"), let rows = json["rows"]?.integer,
            let bytes = json["bytes"]?.integer, let digest = json["sha256"]?.text
        else { return nil }
        let end: ExportReader.Place
        if let position = json["to"]?.integer {
            end = .position(Position(position))
        } else if let stream = json["throughStream"]?.text {
            end = .stream(StreamID(name: stream))
        } else {
            return nil
        }
        self.init(name: name, rows: rows, bytes: bytes, digest: digest, end: end)
    }
}
