internal import CPostgres

extension Pipeline {
    /// Takes every result that has arrived.
    func receive() {
        var emptyAnswers = 0
        while ending == nil, !expected.isEmpty, PQisBusy(session.pointer) == 0 {
            if let result = PQgetResult(session.pointer).map(ServerResult.init(owning:)) {
                emptyAnswers = 0
                take(result)
                continue
            }
            // The end of one statement's results.
            emptyAnswers += 1
            if hasResult {
                hasResult = false
                expected.popFirst()
            } else if emptyAnswers > 2 {
                end("an answer is missing")
            }
        }
    }

    private func take(_ result: ServerResult) {
        guard let expectation = expected.first else { return }
        switch result.status {
        case PGRES_PIPELINE_SYNC:
            guard case .sync(let exchanges) = expectation else {
                return end("an answer is missing")
            }
            expected.popFirst()
            synced(exchanges)
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            hasResult = true
            succeed(expectation, result)
        case PGRES_PIPELINE_ABORTED:
            hasResult = true
            skip(expectation)
        case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
            end("COPY was sent to a session for statements")
        default:
            if case .sync = expectation {} else { hasResult = true }
            fail(expectation, session.error(of: result))
        }
        _ = session.takeNotice()
    }

    private func succeed(_ expectation: Expected, _ result: ServerResult) {
        switch expectation {
        case .preparation(let key, _): cache.confirm(key)
        case .statement(_, let exchange):
            exchange.answers.append(Rows(result))
            // Where nothing can be written there is no commit to wait for.
            if sharesSyncs && !exchange.isAtomic
                && exchange.answers.count == exchange.statements.count
            {
                finish(exchange)
            }
        case .commit(let exchange):
            exchange.failure = exchange.failure ?? session.refusal(ofCommit: result)
        case .begin, .rollback, .sync: break
        }
    }

    private func skip(_ expectation: Expected) {
        switch expectation {
        case .preparation(let key, let exchange):
            cache.forget(key)
            exchange.isSkipped = true
        case .begin(let exchange), .statement(_, let exchange), .commit(let exchange):
            exchange.isSkipped = true
        case .rollback, .sync: break
        }
    }

    private func fail(_ expectation: Expected, _ error: PostgresError) {
        switch expectation {
        case .preparation(let key, let exchange):
            cache.forget(key)
            exchange.failure = exchange.failure ?? error
        case .statement(let key, let exchange):
            if error.isStalePlan, exchange.keepsStatements, !exchange.isSentAgain {
                exchange.hasStaleStatement = true
                forget(key)
            }
            exchange.failure = exchange.failure ?? error
        case .begin(let exchange):
            exchange.failure = exchange.failure ?? error
        case .commit(let exchange):
            // An error that ends the session leaves open whether the commit came first.
            if !error.isConnectionLost { exchange.failure = exchange.failure ?? error }
        case .sync(let exchanges):
            // The commit of an implicit transaction failed.
            for exchange in exchanges { exchange.failure = exchange.failure ?? error }
        case .rollback: break
        }
        if case .connectionLost(let reason) = error { end(reason) }
    }

    /// All results before a sync have arrived.
    private func synced(_ exchanges: [Exchange]) {
        var again: [Exchange] = []
        for exchange in exchanges where exchange.state != .answered {
            if exchange === barrier {
                guard !isInFailedTransaction else { return rollBack(exchange) }
                barrier = nil
            }
            let isInnocent = exchange.isSkipped && exchange.failure == nil
            if isInnocent || exchange.hasStaleStatement {
                exchange.reset()
                again.append(exchange)
            } else {
                finish(exchange)
            }
        }
        waiting.prepend(again)
        if !waiting.isEmpty { scheduleSending() }
        if expected.isEmpty && unsynced.isEmpty {
            let status = PQtransactionStatus(session.pointer)
            if status == PQTRANS_INTRANS || status == PQTRANS_INERROR {
                end("a transaction was begun outside of atomically")
            }
        }
    }

    private var isInFailedTransaction: Bool {
        PQtransactionStatus(session.pointer) == PQTRANS_INERROR
    }

    /// Has the server drop a statement whose plan is stale.
    private func forget(_ key: StatementCache.Key) {
        guard let name = cache.forget(key) else { return }
        let drop = Exchange.Prepared(sql: "deallocate \(name)", parameters: .none)
        submit(
            Exchange([drop], isAtomic: false, keepsStatements: false, limit: .seconds(10)) { _ in })
    }
}

extension PostgresError {
    /// Whether a statement the server kept no longer fits its tables, or is not kept any more.
    var isStalePlan: Bool {
        guard case .server(let error) = self else { return false }
        return error.sqlstate == "26000"
            || (error.sqlstate == "0A000" && error.message.hasPrefix("cached plan"))
    }
}
