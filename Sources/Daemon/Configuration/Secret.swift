import Foundation

/// Where a secret is kept. It says its place, never itself.
enum Secret: Sendable, Hashable, CustomStringConvertible {
    /// The content of a file, by its absolute path, without a newline at its end.
    case file(String)
    /// The value of an environment variable.
    case variable(String)

    var description: String {
        switch self {
        case .file(let path): "{file: \"\(path)\"}"
        case .variable(let name): "{env: \"\(name)\"}"
        }
    }

    /// The secret itself, read now.
    ///
    /// - Throws: `secretMissing` when it is not there, empty, or no UTF-8.
    func read(environment: [String: String]) throws(ConfigurationError) -> Concealed {
        let text: String
        switch self {
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .secretMissing(self, reason: "there is no such file, or it may not be read")
            }
            guard let read = String(bytes: data, encoding: .utf8) else {
                throw .secretMissing(self, reason: "the file is no UTF-8 text")
            }
            text = read.hasSuffix("\n") ? String(read.dropLast()) : read
        case .variable(let name):
            guard let value = environment[name] else {
                throw .secretMissing(self, reason: "the environment variable is not set")
            }
            text = value
        }
        guard !text.isEmpty else { throw .secretMissing(self, reason: "it is empty") }
        return Concealed(text)
    }
}

/// A text that shows itself only to whoever asks for it by name.
struct Concealed: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The text itself: not for logs, errors or help.
    let revealed: String

    init(_ text: String) { revealed = text }

    var description: String { "(concealed)" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}
