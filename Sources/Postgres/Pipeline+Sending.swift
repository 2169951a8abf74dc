internal import CPostgres

extension Pipeline {
    /// Hands to libpq what may be sent now.
    func sendWaiting() {
        while barrier == nil, ending == nil, let exchange = waiting.popFirst() {
            let goesAlone = exchange.isAtomic || exchange.isSentAgain || !sharesSyncs
            if goesAlone { sync() }
            send(exchange)
            if goesAlone { sync() }
        }
        sync()
    }

    private func send(_ exchange: Exchange) {
        exchange.state = .sent
        unsynced.append(exchange)
        if exchange.isAtomic {
            barrier = exchange
            sendWhole("begin", .none)
            expected.append(.begin(exchange))
        }
        for statement in exchange.statements where ending == nil { send(statement, of: exchange) }
        if exchange.isAtomic {
            sendWhole("commit", .none)
            expected.append(.commit(exchange))
        }
    }

    private func send(_ statement: Exchange.Prepared, of exchange: Exchange) {
        let key = StatementCache.Key(sql: statement.sql, types: statement.parameters.types)
        let use =
            exchange.keepsStatements ? cache.use(of: key, before: syncNumber) : .whole
        switch use {
        case .whole:
            sendWhole(statement.sql, statement.parameters)
        case .prepare(let name):
            check(
                PQsendPrepare(
                    session.pointer, name, statement.sql, statement.parameters.count,
                    statement.parameters.types))
            expected.append(.preparation(key, exchange))
            send(name, statement.parameters)
        case .byName(let name):
            send(name, statement.parameters)
        }
        expected.append(.statement(key, exchange))
    }

    private func send(_ name: String, _ parameters: EncodedParameters) {
        guard ending == nil else { return }
        check(
            parameters.withPointers { values, counts, formats in
                PQsendQueryPrepared(
                    session.pointer, name, parameters.count, values, counts, formats, 1)
            })
    }

    private func sendWhole(_ sql: String, _ parameters: EncodedParameters) {
        guard ending == nil else { return }
        check(
            parameters.withPointers { values, counts, formats in
                PQsendQueryParams(
                    session.pointer, sql, parameters.count, parameters.types, values, counts,
                    formats, 1)
            })
    }

    /// Marks the end of a transaction; what was sent since the last one is committed or not.
    private func sync() {
        guard !unsynced.isEmpty, ending == nil else { return }
        expected.append(.sync(unsynced))
        unsynced = []
        syncNumber += 1
        check(PQpipelineSync(session.pointer))
    }

    /// Takes back what a failed atomic exchange began.
    func rollBack(_ exchange: Exchange) {
        sendWhole("rollback", .none)
        expected.append(.rollback(exchange))
        unsynced = [exchange]
        sync()
        flush()
    }

    private func check(_ status: Int32) {
        if status != 1 { end(session.lastMessage) }
    }
}
