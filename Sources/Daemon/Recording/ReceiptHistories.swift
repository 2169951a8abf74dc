import AppStore
import Domain
import Ledger
import Operation

/// Brings the history that a receipt leads to from Apple's server API: the receipt says which
/// transaction to ask for, and Apple's signed word is what is recorded.
struct ReceiptHistories: Sendable {
    private let stores: StoreApps
    private let intake: Intake
    private let cursors: HistoryCursors

    /// How long a request may wait for Apple.
    private static let patience = Patience(
        attempts: 3, first: .milliseconds(250), longest: .seconds(2), total: .seconds(20))

    /// Histories for the apps of a ground's configuration.
    ///
    /// - Throws: `serverAPIUnusable` when an app asks for them and its key cannot be used.
    init(_ ground: Ground, intake: Intake) throws(DaemonError) {
        self.intake = intake
        cursors = HistoryCursors(ground.writePool)
        var configuration = ground.configuration
        configuration.apps.removeAll { $0.receipts != .serverAPI }
        stores = try StoreApps(
            configuration,
            manner: StoreApps.Manner(
                waiting: .real(on: ground.outer), patience: ReceiptHistories.patience))
    }

    /// Brings the history of whoever bought what a receipt lists.
    ///
    /// Only a receipt that is proved speaks for its presenter: ids are no secrets. One of the older
    /// form proves nothing, so it only says what to ask for.
    func bring(_ receipt: String, of bundle: String, presenter: String?)
        async throws(ReceiptDesk.Failure) -> ReceiptDesk.Learnt
    {
        guard let app = stores.apps.first(where: { $0.bundleID == bundle }) else {
            throw .unknownApp
        }
        let proved: ReceiptReading
        do throws(AnswerRefusal) {
            proved = try intake.interpreter.receipt(
                receipt, of: bundle, receivedAt: SystemClock.now)
        } catch {
            guard case .malformed = error, let older = TransactionReceipt(base64: receipt),
                older.bundle == bundle, let id = older.transaction,
                let place = app.place(older.environment)
            else { throw .answer(error) }
            return try await bring(id, from: place, presenter: nil)
        }
        guard let place = app.place(proved.environment) else {
            throw .apple(.environmentNotAllowed(status: nil))
        }
        let ids = proved.observations.compactMap { $0.transaction?.content.transaction }
        // One is enough: a history is a customer's, not a transaction's.
        guard let id = ids.last else {
            return ReceiptDesk.Learnt(environment: proved.environment)
        }
        return try await bring(id, from: place, presenter: presenter)
    }

    private func bring(_ id: String, from place: ServerAPI, presenter: String?)
        async throws(ReceiptDesk.Failure) -> ReceiptDesk.Learnt
    {
        var intake = intake
        intake.presenter = presenter
        do throws(DaemonError) {
            let tally = try await Histories(intake: intake, cursors: cursors).bring(
                id, from: place, anew: presenter != nil, page: { _ in })
            return ReceiptDesk.Learnt(
                position: tally.appended > 0 ? tally.position : nil, appended: tally.entries,
                environment: place.place.environment)
        } catch {
            throw .history(error)
        }
    }
}
