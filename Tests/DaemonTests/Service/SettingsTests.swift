import Domain
import Testing

@testable import Daemon

@Suite("Settings")
struct SettingsTests {
    @Test("that differ from the record are refused with the difference, unless adopted")
    func differ() async throws {
        try await TestService.run { service in
            var changed = service.configuration
            changed.apps[0].gracePeriodDays = 3
            changed.products.removeLast()
            let ground = try await Ground.open(changed, migrate: false)
            await #expect(throws: (any Error).self) {
                _ = try await Service.start(ground, adoptSettings: false)
            }
            do throws(DaemonError) {
                _ = try await Service.start(ground, adoptSettings: false)
            } catch {
                guard case .settingsDiffer(let differences) = error else { throw error }
                #expect(
                    differences == [
                        "gracePeriodDays of com.example.app: 3 in the file, 16 on the record",
                        "catalog.products[pro.lifetime] is not in the file",
                    ])
            }
            let adopted = try await Service.start(ground, adoptSettings: true)
            await adopted.stop()
            let same = try await Service.start(ground, adoptSettings: false)
            await same.stop()
            await ground.close()
        }
    }

    @Test("are on the record once, as its first entries")
    func first() async throws {
        try await TestService.run { service in
            let entries = try await service.ask("GET", "/v1/entries")
            let kinds = (entries["entries"]?.elements ?? []).map { $0["kind"]?.text }
            #expect(kinds == ["settingsChanged", "catalogChanged"])
        }
    }
}
