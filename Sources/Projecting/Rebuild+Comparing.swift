import Domain
import Ledger
import Postgres

/// Digests of two generations at one position.
struct Comparison: Sendable {
    let live: String
    let built: String
}

extension Rebuild {
    /// How long the live generation may stand still before it is not waited for any more.
    private static let patience = Duration.seconds(30)

    /// Compares a build with the live generation of the same edition and context; `nil` when there
    /// is none.
    ///
    /// Piece by piece, so that no snapshot lasts: each is read of the live generation together
    /// with its position, and of the build, which nobody else moves, at that very position. Nobody
    /// waits for any of it.
    func compare(_ build: inout Build) async throws(ProjectingError) -> Comparison? {
        let session = try await opened()
        do throws(ProjectingError) {
            let result = try await compare(&build, session)
            await session.close()
            return result
        } catch {
            await session.close()
            throw error
        }
    }

    private func compare(_ build: inout Build, _ session: BlockingConnection)
        async throws(ProjectingError) -> Comparison?
    {
        while true {
            guard let live = try await level(&build, session) else { return nil }
            if let result = try await compare(&build, live, session) { return result }
        }
    }

    /// The live generation's number, once it is as far as the build, which then is as far as it is;
    /// `nil` when it is of another edition or context.
    private func level(_ build: inout Build, _ session: BlockingConnection)
        async throws(ProjectingError) -> Int64?
    {
        var place = Position.start
        var stillSince = ContinuousClock.now
        while true {
            let found = try await penned { () throws(PostgresError) in try await live(session) }
            guard let found, found.edition == projection.edition, found.context == build.context
            else { return nil }
            if found.checkpoint >= build.checkpoint {
                try await catchUp(&build, to: found.checkpoint)
                return found.number
            }
            if found.checkpoint > place { (place, stillSince) = (found.checkpoint, .now) }
            if stillSince.duration(to: .now) > Rebuild.patience { throw .notLevel }
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { throw .overtaken }
        }
    }

    /// - Returns: `nil` when another generation has become live meanwhile.
    private func compare(_ build: inout Build, _ live: Int64, _ session: BlockingConnection)
        async throws(ProjectingError) -> Comparison?
    {
        let start = build.checkpoint
        var folds = StreamFolds(projection)
        var built = GenerationDigest(projection)
        // What the live generation has more than the build, where they were compared.
        var surplus = GenerationDigest(projection)
        for table in projection.tables {
            var last: RowPiece?
            while let piece = try await next(table, last, build, session) {
                guard let (position, found) = try await sums(of: piece, live: live, session) else {
                    return nil
                }
                try await catchUp(&build, to: position, &folds)
                let made = try await sums(of: piece, build, session)
                built.add(made, to: table)
                surplus.add(found - made, to: table)
                last = piece
            }
        }
        // Pieces that were read at several positions make no digest of any.
        if build.checkpoint != start { built = try await digest(build, session) }
        return Comparison(live: built.adding(surplus).text, built: built.text)
    }

    private func next(
        _ table: ProjectionTable, _ piece: RowPiece?, _ build: Build,
        _ session: BlockingConnection
    ) async throws(ProjectingError) -> RowPiece? {
        try await penned { () throws(PostgresError) in
            try await RowPiece.next(
                table, after: piece, of: build.number, size: resources.comparedRows, session)
        }
    }

    /// A piece of the live generation, and the position of one snapshot with it.
    private func sums(of piece: RowPiece, live: Int64, _ session: BlockingConnection)
        async throws(ProjectingError) -> (Position, GenerationDigest.Sums)?
    {
        let statement = piece.sums(
            in: live,
            beside: """
                select checkpoint from projection.generation \
                where projection = '\(projection.name)' and is_live and generation = \(live)
                """)
        return try await penned { () throws(PostgresError) in
            let row = try await session.query(statement.sql, statement.parameters).only()
            guard let checkpoint = try row.int8IfAny(0) else { return nil }
            return (Position(checkpoint), try RowPiece.sums(row))
        }
    }

    private func sums(of piece: RowPiece, _ build: Build, _ session: BlockingConnection)
        async throws(ProjectingError) -> GenerationDigest.Sums
    {
        let statement = piece.sums(in: build.number)
        return try await penned { () throws(PostgresError) in
            try RowPiece.sums(try await session.query(statement.sql, statement.parameters).only())
        }
    }

    /// The digest of a build, which stands still.
    private func digest(_ build: Build, _ session: BlockingConnection)
        async throws(ProjectingError) -> GenerationDigest
    {
        var digest = GenerationDigest(projection)
        for table in projection.tables {
            var last: RowPiece?
            while let piece = try await next(table, last, build, session) {
                digest.add(try await sums(of: piece, build, session), to: table)
                last = piece
            }
        }
        return digest
    }
}
