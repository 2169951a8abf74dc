import Foundation

@testable import Daemon

/// A folder of its own for one test, and the configuration that is read there.
struct ConfigurationFixture {
    let directory: String

    init() throws {
        directory = NSTemporaryDirectory() + "subledger-configuration-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory + "/etc", withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(atPath: directory) }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: directory + "/" + name, atomically: true, encoding: .utf8)
    }

    func load(
        environment: [String: String] = [:], options: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        try ConfigurationLoader(environment: environment, workingDirectory: directory)
            .load(options: options)
    }

    /// What is refused when this text is the file `subledger.json5`, a line each.
    static func refusal(
        of text: String, environment: [String: String] = [:], options: [String: String] = [:]
    ) throws -> String {
        let fixture = try ConfigurationFixture()
        defer { fixture.remove() }
        try fixture.write(text, to: "subledger.json5")
        do {
            _ = try fixture.load(environment: environment, options: options)
            return "nothing"
        } catch {
            return error.description
        }
    }
}
