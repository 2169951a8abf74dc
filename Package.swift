// swift-tools-version: 6.2

import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func room(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "subledger",
    products: [
        .executable(name: "subledger", targets: ["subledger"]),
        .executable(name: "subledger-bench", targets: ["Bench"]),
    ],
    targets: [
        // C libraries, from Debian.
        .systemLibrary(name: "CUV", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Floor 0: import nothing of ours.
        room("Domain"),
        room("Diagnostics"),
        room("EventLoop", ["CUV"]),
        .target(
            name: "Schema", path: "schema",
            resources: [
                .embedInCode("0001_ledger.sql"), .embedInCode("0002_asking.sql"),
                .embedInCode("0003_generations.sql"), .embedInCode("0004_delivery.sql"),
                .embedInCode("0005_analytics.sql"), .embedInCode("0006_report.sql"),
                .embedInCode("0007_states.sql"), .embedInCode("0008_flows.sql"),
                .embedInCode("0009_persons.sql"), .embedInCode("0010_belonging.sql"),
                .embedInCode("0011_cohorts.sql"),
                .embedInCode("0012_origins.sql"),
                .embedInCode("0013_presence.sql"),
                .embedInCode("0014_money_span.sql"),
            ],
            swiftSettings: strict),

        // Floor 1: mechanisms, no domain word.
        room("Crypto", ["COpenSSL"]),
        room("Postgres", ["CPostgres", "EventLoop"]),
        room("HTTP", ["EventLoop", "COpenSSL", "CCurl"]),

        // Floor 2.
        room("AppStore", ["Domain", "Crypto", "HTTP"]),
        room("Ledger", ["Domain", "Diagnostics", "Crypto", "Postgres", "EventLoop", "Schema"]),
        room("Operation", ["Domain", "Crypto", "Postgres"]),

        // Floor 3.
        room(
            "Projecting",
            ["Domain", "Diagnostics", "Crypto", "Ledger", "Postgres", "EventLoop"]),

        // Floor 4.
        room(
            "Entitlements",
            ["Domain", "Diagnostics", "Ledger", "Operation", "Projecting", "Postgres"]),
        room(
            "Delivery",
            ["Domain", "Diagnostics", "EventLoop", "Crypto", "Postgres", "HTTP", "Ledger"]),

        room(
            "Analytics", ["Domain", "Diagnostics", "Ledger", "Operation", "Projecting", "Postgres"]),
        room(
            "StoreSimulator",
            ["Domain", "Diagnostics", "EventLoop", "Crypto", "HTTP", "COpenSSL"]),

        // Floor 5.
        room(
            "Daemon",
            [
                "Domain", "Diagnostics", "EventLoop", "Crypto", "Postgres", "HTTP", "AppStore",
                "Ledger", "Operation", "Projecting", "Entitlements", "Analytics", "Delivery",
                "StoreSimulator",
            ]),

        // Floor 6.
        .executableTarget(name: "subledger", dependencies: ["Daemon"], swiftSettings: strict),

        .target(
            name: "TestSupport", dependencies: ["Postgres"], path: "Tests/Support",
            swiftSettings: strict),
        .target(
            name: "TestLives", dependencies: ["Domain"], path: "Tests/Lives",
            swiftSettings: strict),
        tests("DomainTests", ["Domain", "TestLives"]),
        tests("PostgresTests", ["Postgres", "EventLoop", "TestSupport"]),
        tests("EventLoopTests", ["EventLoop"]),
        .target(
            name: "TestSigner", dependencies: ["Crypto", "COpenSSL"], path: "Tests/Signer",
            swiftSettings: strict),
        tests("CryptoTests", ["Crypto", "TestSigner", "COpenSSL"]),
        .target(
            name: "TestApple", dependencies: ["Domain", "HTTP", "EventLoop"],
            path: "Tests/Apple", swiftSettings: strict),
        tests(
            "AppStoreTests",
            [
                "AppStore", "Domain", "Crypto", "HTTP", "EventLoop", "TestLives", "TestSigner",
                "TestApple",
            ]),
        tests("DiagnosticsTests", ["Diagnostics"]),
        tests(
            "DaemonTests",
            [
                "Daemon", "Analytics", "Domain", "Crypto", "EventLoop", "HTTP", "Ledger",
                "Operation",
                "AppStore", "Entitlements", "Postgres", "StoreSimulator", "TestLives", "TestSigner",
                "TestSupport", "TestApple",
            ]),
        tests(
            "LedgerTests",
            [
                "Ledger", "Projecting", "Operation", "Domain", "Crypto", "Diagnostics", "Postgres",
                "EventLoop", "Schema", "TestSupport",
            ]),
        tests(
            "DeliveryTests",
            [
                "Delivery", "Domain", "Diagnostics", "EventLoop", "Crypto", "Postgres", "HTTP",
                "Ledger", "TestSupport",
            ]),
        tests("HouseTests", []),
        tests(
            "AnalyticsTests",
            [
                "Analytics", "Diagnostics", "Domain", "Entitlements", "EventLoop", "Ledger",
                "Postgres", "Projecting", "TestLives", "TestSupport",
            ]),
        tests(
            "StoreSimulatorTests",
            [
                "StoreSimulator", "AppStore", "Domain", "Crypto", "EventLoop", "HTTP", "TestLives",
            ]),
        .executableTarget(
            name: "Bench",
            dependencies: [
                "Domain", "EventLoop", "Crypto", "Postgres", "HTTP", "AppStore", "Ledger",
                "Projecting", "Entitlements", "Analytics", "TestSigner", "TestLives",
            ], path: "Tests/Bench", swiftSettings: strict),
        tests("HTTPTests", ["HTTP", "EventLoop"]),
    ]
)
