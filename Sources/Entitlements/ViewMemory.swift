import Domain
import Synchronization

/// Views of customers as of the position at which each was read.
final class ViewMemory: Sendable {
    /// A view, what it was computed from, and what was concluded from it lately.
    struct Remembered: Sendable {
        var view: CustomerView
        let concerns: Recency.Concerns
        fileprivate var answers: [Scope: (view: CustomerView, verdicts: Verdicts)] = [:]

        init(_ view: CustomerView, _ concerns: Recency.Concerns) {
            self.view = view
            self.concerns = concerns
        }
    }

    /// The world and the app that are asked about.
    struct Scope: Hashable, Sendable {
        let environment: Environment
        let app: String?
    }

    private let views = Mutex<[String: Remembered]>([:])
    private static let limit = 20_000

    subscript(customer: String) -> Remembered? { views.withLock { $0[customer] } }

    /// Forgets all views.
    func forget() { views.withLock { $0 = [:] } }

    /// Remembers the view of a customer.
    func remember(_ customer: String, _ view: CustomerView, _ concerns: Recency.Concerns) {
        views.withLock { views in
            if views.count >= ViewMemory.limit { views = [:] }
            views[customer] = Remembered(view, concerns)
        }
    }

    /// Remembers what a view came to, unless another one was read meanwhile.
    func remember(
        _ question: Question, _ view: CustomerView, _ verdicts: Verdicts, readAt: Position
    ) {
        views.withLock { views in
            guard views[question.customer]?.view.position == readAt else { return }
            views[question.customer]?.answers[question.scope] = (view, verdicts)
        }
    }
}

extension ViewMemory.Remembered {
    /// What was concluded, when time alone has not changed it since.
    func answer(to question: Question) -> (view: CustomerView, verdicts: Verdicts)? {
        guard let known = answers[question.scope], let since = known.verdicts.freshSince,
            since <= question.at, question.at < known.verdicts.freshUntil ?? .distantFuture
        else { return nil }
        return known
    }
}

extension Question {
    var scope: ViewMemory.Scope { ViewMemory.Scope(environment: environment, app: app) }
}
