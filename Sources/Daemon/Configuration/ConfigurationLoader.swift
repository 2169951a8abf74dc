import Foundation

/// Reads the configuration: options beat environment variables, which beat the file.
struct ConfigurationLoader {
    /// The file that is read when none is named and it is there.
    static let defaultFile = "subledger.json5"

    var environment: [String: String]
    var workingDirectory: String

    /// Loads as this process would.
    static func load(_ invocation: Invocation) throws(ConfigurationError) -> Configuration {
        let loader = ConfigurationLoader(
            environment: ProcessInfo.processInfo.environment,
            workingDirectory: FileManager.default.currentDirectoryPath)
        var options: [String: String] = [:]
        for name in ["config", "listen", "data-directory", "database"] {
            options[name] = invocation.value(name)
        }
        return try loader.load(options: options)
    }

    /// The configuration that the file, the environment and these options make together.
    ///
    /// - Throws: every error but `secretMissing`; secrets are read by whoever needs them.
    func load(options: [String: String] = [:]) throws(ConfigurationError) -> Configuration {
        guard let file = try file(named: options["config"]) else {
            return try configuration(
                of: ConfigurationNode(value: .object([]), origin: .file(line: 1, column: 1)),
                file: nil, options: options)
        }
        let root: ConfigurationNode
        do {
            root = try JSON5Parser.parse(file.text)
        } catch {
            throw .syntax(
                file: file.name, line: error.line, column: error.column, problem: error.problem)
        }
        return try configuration(of: root, file: file, options: options)
    }

    private struct File {
        /// As it was named, for messages.
        var name: String
        var path: String
        var text: String
    }

    private func file(named option: String?) throws(ConfigurationError) -> File? {
        let variable = environment["SUBLEDGER_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        let named = option ?? variable
        let name = named ?? Self.defaultFile
        let path = ConfigurationDecoder.absolute(name, from: workingDirectory)
        if named == nil, !FileManager.default.fileExists(atPath: path) { return nil }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw .unreadable(
                file: name, reason: "there is no such file, or it may not be read")
        }
        guard let text = String(bytes: data, encoding: .utf8) else {
            throw .unreadable(file: name, reason: "the file is no UTF-8 text")
        }
        return File(name: name, path: path, text: text)
    }

    private func configuration(
        of root: ConfigurationNode, file: File?, options: [String: String]
    ) throws(ConfigurationError) -> Configuration {
        let directory = file.map { ConfigurationDecoder.absolute("..", from: $0.path) }
        var decoder = ConfigurationDecoder(
            fileName: file?.name ?? "", fileDirectory: directory ?? workingDirectory,
            workingDirectory: workingDirectory, environment: environment)
        var configuration = decoder.configuration(
            ConfigurationOverrides.applied(to: root, environment: environment, options: options))
        guard decoder.refusals.isEmpty else { throw .refused(decoder.refusals) }
        configuration.file = file?.path
        if environment["SUBLEDGER_BOOTSTRAP_KEY"]?.isEmpty == false {
            configuration.bootstrapKey = .variable("SUBLEDGER_BOOTSTRAP_KEY")
        }
        configuration.warnings = ConfigurationOverrides.warnings(
            environment: environment, secrets: configuration.secrets.map(\.secret))
        return configuration
    }
}
