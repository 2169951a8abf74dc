import Domain
import Synchronization

/// Keeps the calls of one app in one environment within the rates that Apple allows.
final class Pacing: Sendable {
    private let paces: Mutex<[Call.Rate: Pace]>
    private let began = ContinuousClock.now

    /// Apple's rates; a tenth of them outside Production.
    ///
    /// - Parameter share: the part of the rates that is used, above 0.
    init(_ environment: Environment, share: Double) {
        let part = (environment == .production ? 1 : 0.1) * share
        let paces = Call.Rate.allCases.map { rate in
            // The budget is counted by the hour, so a second's worth may come at once.
            let perSecond = rate.rawValue * part
            return (rate, Pace(perSecond: perSecond, atOnce: max(1, Int(perSecond))))
        }
        self.paces = Mutex(Dictionary(uniqueKeysWithValues: paces))
    }

    /// Takes the next turn of a rate; how long to wait for it.
    func turn(_ rate: Call.Rate) -> Duration {
        let now = began.duration(to: .now)
        return paces.withLock { $0[rate]?.turn(at: now) ?? .zero }
    }
}
