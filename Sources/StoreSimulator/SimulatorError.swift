/// Why a simulator does not begin.
public enum SimulatorError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The folder for certificates and keys cannot be used.
    case folderUnusable(String, why: String)
    /// The scenario says something that cannot be played: where, and what is wanted there.
    case badScenario(path: String, why: String)
    /// The address cannot be listened at.
    case notListening(String)

    /// The error in words.
    public var description: String {
        switch self {
        case .folderUnusable(let path, let why): "\(path): \(why)"
        case .badScenario(let path, let why): "the scenario's \(path): \(why)"
        case .notListening(let why): "cannot listen: \(why)"
        }
    }
}
