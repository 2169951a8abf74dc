import Crypto
import Operation
import Postgres
import Testing

@Suite("An API key")
struct APIKeyTests {
    @Test("is told once, and only its digest is stored")
    func created() async throws {
        try await withLedger { ledger in
            let keys = APIKeys(ledger.pool)
            let (key, secret) = try await keys.create(
                name: "backend", roles: [.ingest, .read], now: 5)
            #expect(secret.hasPrefix("slk_") && secret.count == 4 + 48)
            #expect(key.id.hasPrefix("key_") && !secret.contains(key.id.dropFirst(4)))
            let rows = try await ledger.superuser.query(
                "select api_key::text, encode(digest, 'hex') from operation.api_key")
            #expect(try !rows.only().text(0).contains(secret.dropFirst(4)))
            #expect(try rows.only().text(1) == APIKeys.digest(of: secret))
            #expect(APIKeys.digest(of: secret) == SHA256.digest(of: secret).description)
            #expect(try await keys.list() == [key])
            #expect(key.name == "backend" && key.roles == [.ingest, .read])
            #expect(key.createdAt == 5 && key.revokedAt == nil)
        }
    }

    @Test("holds until it is revoked, and is listed after that too")
    func revoked() async throws {
        try await withLedger { ledger in
            let keys = APIKeys(ledger.pool)
            let old = try await keys.create(name: "old", roles: [.read], now: 1)
            let new = try await keys.create(name: "new", roles: Set(Role.allCases), now: 2)
            #expect(
                try await keys.valid() == [
                    APIKeys.digest(of: old.secret): old.key,
                    APIKeys.digest(of: new.secret): new.key,
                ])
            #expect(try await keys.revoke(old.key.id, now: 3))
            #expect(try await keys.valid() == [APIKeys.digest(of: new.secret): new.key])
            var ended = old.key
            ended.revokedAt = 3
            #expect(try await keys.list() == [ended, new.key])
            // The first word stands.
            #expect(try await keys.revoke(old.key.id, now: 4) == false)
            #expect(try await keys.revoke("key_unknown", now: 4) == false)
            #expect(try await keys.list() == [ended, new.key])
        }
    }

    @Test("of a role that this program does not know allows what it does know")
    func unknownRole() async throws {
        try await withLedger { ledger in
            let keys = APIKeys(ledger.pool)
            let made = try await keys.create(name: "a", roles: [.read], now: 1)
            try await ledger.superuser.execute(
                script: "update operation.api_key set roles = '{read,fly}'")
            #expect(try await keys.valid().values.map(\.roles) == [[.read]])
            #expect(try await keys.list().map(\.id) == [made.key.id])
        }
    }
}

@Suite("Samples of forgeries")
struct SamplesTests {
    private func keep(_ samples: Samples, _ text: String, _ reason: String, _ now: Int64)
        async throws
    {
        try await samples.keep(Array(text.utf8), reason: reason, detail: "of \(text)", now: now)
    }

    @Test("are listed the newest first, by reason when asked, each text once")
    func listed() async throws {
        try await withLedger { ledger in
            let samples = Samples(ledger.pool)
            try await keep(samples, "a", "bad_header", 1)
            try await keep(samples, "b", "bad_signature", 3)
            try await keep(samples, "c", "bad_signature", 2)
            try await keep(samples, "a", "bad_signature", 4)
            let all = try await samples.list(atMost: 10)
            #expect(all.map(\.detail) == ["of b", "of c", "of a"])
            #expect(all.map(\.receivedAt) == [3, 2, 1])
            #expect(all.first?.digest == SHA256.digest(of: "b").description)
            #expect(
                try await samples.list(reasons: ["bad_signature"], atMost: 10).map(\.detail)
                    == ["of b", "of c"])
            #expect(
                try await samples.list(reasons: ["bad_header", "other"], atMost: 10)
                    .map(\.reason) == ["bad_header"])
            #expect(try await samples.list(atMost: 1).map(\.detail) == ["of b"])
        }
    }

    @Test("are kept up to a number, the oldest out first, and cut when they are long")
    func bounded() async throws {
        try await withLedger { ledger in
            let samples = Samples(ledger.pool)
            try await ledger.superuser.query(
                """
                insert into operation.sample (digest, received_at, reason, detail, original) \
                select sha256(number::text::bytea), number, 'bad_header', '', '' \
                from generate_series(1, \(Samples.limit)) as number
                """)
            try await keep(samples, "new", "bad_header", 5_000)
            #expect(
                try await ledger.number("select count(*) from operation.sample")
                    == Int64(Samples.limit))
            #expect(
                try await ledger.number("select min(received_at) from operation.sample") == 2)
            #expect(try await samples.list(atMost: 1).map(\.receivedAt) == [5_000])
            try await samples.keep(
                [UInt8](repeating: 7, count: Samples.longest + 1), reason: "bad_header",
                detail: "", now: 6_000)
            #expect(
                try await ledger.number("select max(length(original)) from operation.sample")
                    == Int64(Samples.longest))
        }
    }
}
