import Dispatch
import EventLoop
import Foundation
import HTTP
import Testing

/// What a program of the system answers to some input.
private func run(_ arguments: [String], input: String = "") async throws -> (String, Int32) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    let (entry, exit) = (Pipe(), Pipe())
    process.standardInput = entry
    process.standardOutput = exit
    process.standardError = FileHandle.nullDevice
    try process.run()
    return await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
            try? entry.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            let data = try? exit.fileHandleForReading.readToEnd()
            try? entry.fileHandleForWriting.close()
            process.waitUntilExit()
            let text = String(decoding: data ?? Data(), as: UTF8.self)
            continuation.resume(returning: (text, process.terminationStatus))
        }
    }
}

/// A key and a certificate that signs itself, in a directory of their own.
private struct Certificate {
    let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    var certificate: URL { directory.appending(path: "certificate.pem") }
    var key: URL { directory.appending(path: "key.pem") }

    init() async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (_, status) = try await run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", key.path(), "-out", certificate.path(), "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ])
        try #require(status == 0)
    }

    func identity() throws -> TLSIdentity {
        try TLSIdentity(
            certificates: Array(Data(contentsOf: certificate)), key: Array(Data(contentsOf: key)))
    }

    func remove() throws {
        try FileManager.default.removeItem(at: directory)
    }
}

@Suite("A server with an identity")
struct TLSTests {
    @Test("answers over TLS to a client that checks its certificate")
    func roundTrip() async throws {
        let certificate = try await Certificate()
        let served = try Served(identity: certificate.identity())
        let url = "https://localhost:\(served.server.port)"
        let body = certificate.directory.appending(path: "body")
        try Data(repeating: 97, count: 3_000_000).write(to: body)
        let curl = [
            "curl", "-s", "--ipv4", "--noproxy", "*", "--cacert", certificate.certificate.path(),
        ]
        let (small, _) = try await run(curl + ["\(url)/a", "\(url)/b"])
        #expect(small == "GET /a 0;GET /b 0;")
        let (large, _) = try await run(curl + ["--data-binary", "@\(body.path())", "\(url)/big"])
        #expect(large == "POST /big 3000000;")
        let (_, old) = try await run(curl + ["--tls-max", "1.1", url])
        #expect(old != 0)
        await served.end()
        try certificate.remove()
    }

    @Test("streams a long body over TLS with back-pressure")
    func stream() async throws {
        let certificate = try await Certificate()
        let served = try Served(identity: certificate.identity()) { _ in
            Response(
                status: 200,
                body: .stream { writer in
                    for _ in 0..<100 {
                        try await writer.write([UInt8](repeating: 122, count: 100_000))
                    }
                })
        }
        let (text, status) = try await run([
            "curl", "-s", "--ipv4", "--noproxy", "*", "--cacert", certificate.certificate.path(),
            "https://localhost:\(served.server.port)/",
        ])
        #expect(status == 0)
        #expect(text.utf8.count == 10_000_000)
        await served.end()
        try certificate.remove()
    }

    @Test("closes on a client that does not speak TLS, and goes on")
    func plainText() async throws {
        let certificate = try await Certificate()
        let served = try Served(identity: certificate.identity())
        let client = served.client()
        client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(await client.receiveAll()?.contains("200") != true)
        let (text, _) = try await run([
            "curl", "-sk", "--noproxy", "*", "https://127.0.0.1:\(served.server.port)/",
        ])
        #expect(text == "GET / 0;")
        await served.end()
        try certificate.remove()
    }

    @Test("is refused with texts that are no certificate, no key, or not a pair")
    func refusals() async throws {
        let (one, other) = (try await Certificate(), try await Certificate())
        let certificate = try Array(Data(contentsOf: one.certificate))
        let key = try Array(Data(contentsOf: one.key))
        let otherKey = try Array(Data(contentsOf: other.key))
        #expect(throws: IdentityError.certificateUnreadable) {
            try TLSIdentity(certificates: key, key: key)
        }
        #expect(throws: IdentityError.keyUnreadable) {
            try TLSIdentity(certificates: certificate, key: certificate)
        }
        #expect(throws: IdentityError.keyDoesNotMatch) {
            try TLSIdentity(certificates: certificate, key: otherKey)
        }
        try one.remove()
        try other.remove()
    }
}
