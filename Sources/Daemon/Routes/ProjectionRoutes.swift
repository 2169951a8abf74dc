import Domain
import HTTP
import Ledger
import Operation
import Projecting

/// How the projections stand, and their rebuilding.
struct ProjectionRoutes: Sendable {
    let ground: Ground

    var routes: [Route] {
        [
            Route("GET", "/v1/projections", .operate, list),
            Route("GET", "/v1/projections/{name}", .operate, show),
            Route("POST", "/v1/projections/{name}/rebuild", .operate, rebuild),
            Route("DELETE", "/v1/projections/{name}/rebuild", .operate, cancel),
            Route("POST", "/v1/projections/{name}/rollback", .operate, rollBack),
        ]
    }

    @Sendable private func list(_ request: Request, _: [String]) async throws(Problem) -> Response {
        let page = try Page(request)
        var found: [JSON] = []
        var head = Position.start
        for projection in Projections.all {
            let status = try await status(projection.name)
            found.append(status.rendered)
            head = max(head, status.head)
        }
        return .json(
            .object(
                page.members("projections", found)
                    + [.init("position", .integer(head.number))]))
    }

    @Sendable private func show(_: Request, _ path: [String]) async throws(Problem) -> Response {
        .json(try await status(projection(path).name).rendered)
    }

    @Sendable private func rebuild(_: Request, _ path: [String]) async throws(Problem) -> Response {
        let projection = try projection(path)
        let generation = try await projecting { () throws(ProjectingError) in
            try await ground.rebuild(projection).request()
        }
        return .json(
            try await answer(projection, [.init("generation", .integer(generation))]), status: 202)
    }

    @Sendable private func cancel(_: Request, _ path: [String]) async throws(Problem) -> Response {
        let projection = try projection(path)
        let wasBuilding = try await projecting { () throws(ProjectingError) in
            try await ground.rebuild(projection).cancel()
        }
        return .json(try await answer(projection, [.init("cancelled", .bool(wasBuilding))]))
    }

    @Sendable private func rollBack(_: Request, _ path: [String]) async throws(Problem)
        -> Response
    {
        let projection = try projection(path)
        let outcome = try await projecting { () throws(ProjectingError) in
            try await ground.rebuild(projection).rollBack()
        }
        return .json(
            try await answer(
                projection, [.init("generation", .integer(outcome.generation))]))
    }

    private func answer(_ projection: any Projection, _ more: [JSON.Member])
        async throws(Problem) -> JSON
    {
        let head = try await reading { () throws(LedgerError) in
            try await ground.reader.head().position
        }
        return .object(
            [
                .init("projection", .string(projection.name)),
                .init("position", .integer(head.number)), .init("appended", .integer(0)),
            ] + more)
    }

    private func projection(_ path: [String]) throws(Problem) -> any Projection {
        guard let projection = Projections.named(path[0]) else {
            throw .unknown("the projection \"\(path[0].prefix(60))\"")
        }
        return projection
    }

    private func status(_ name: String) async throws(Problem) -> ProjectionStatus {
        try await projecting { () throws(ProjectingError) in
            try await ProjectionRegistry(ground.readPool).status(of: name)
        }
    }
}

/// Runs what projections do; its errors become problems.
private func projecting<T>(_ body: () async throws(ProjectingError) -> T)
    async throws(Problem) -> T
{
    do throws(ProjectingError) {
        return try await body()
    } catch {
        switch error {
        case .ledger(let error): throw Problem(error)
        case .busy, .overtaken, .newerLive, .noPrevious, .previousIsForeign:
            throw Problem(status: 409, code: error.code, title: "Conflict", detail: "\(error)")
        case .notLevel: throw .unavailable(error.code, "\(error)")
        }
    }
}

extension ProjectionStatus {
    /// As answered.
    var rendered: JSON {
        let state = isRebuilding ? "rebuilding" : generation == nil ? "absent" : "live"
        return .object([
            .init("name", .string(name)), .init("state", .string(state)),
            .init("generation", generation.map(JSON.integer) ?? .null),
            .init("edition", edition.map(JSON.integer) ?? .null),
            .init("position", .integer(position.number)),
            .init("lag", .integer(max(0, head.number - position.number))),
            .init(
                "digest",
                .word(generations.first { $0.number == generation }?.digest)),
            .init("halted", .array(halted.map(\.rendered))),
            .init("generations", .array(generations.map(\.rendered))),
        ])
    }
}

extension ProjectionStatus.Halt {
    fileprivate var rendered: JSON {
        .object([
            .init("stream", .string(stream.name)), .init("position", .integer(position.number)),
            .init("reason", .string(reason)),
        ])
    }
}

extension ProjectionStatus.Generation {
    fileprivate var rendered: JSON {
        .object([
            .init("generation", .integer(number)), .init("edition", .integer(edition)),
            .init("state", .string(state)), .init("purpose", .string(purpose)),
            .init("phase", .string(phase)), .init("checkpoint", .integer(checkpoint.number)),
            .init("done", .integer(done)), .init("total", .integer(total)),
            .init("workers", .integer(workers)), .init("digest", .word(digest)),
            .init("liveDigest", .word(liveDigest)), .init("failure", .word(failure)),
            .init("startedAt", .moment(startedAt)), .init("updatedAt", .moment(updatedAt)),
            .init("finishedAt", finishedAt.map { .moment($0) } ?? .null),
        ])
    }
}
