// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that users of the library do not build the benchmarks' dependencies.
let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(name: "Jobs", description: "Enables jobs, which needs libsqlite3 and libpq.")
    ],
    dependencies: [
        .package(
            name: "swift-operations", path: "..",
            traits: [
                .trait(name: "Telemetry"),
                .trait(name: "DurableJobs", condition: .when(traits: ["Jobs"])),
                .trait(name: "DurableJobsPostgres", condition: .when(traits: ["Jobs"])),
            ]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: [
        .executableTarget(
            name: "instructions",
            dependencies: [.product(name: "Operations", package: "swift-operations")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ]
        ),
        .executableTarget(
            name: "jobs",
            dependencies: [
                .product(name: "Operations", package: "swift-operations"),
                .product(
                    name: "DurableJobs", package: "swift-operations",
                    condition: .when(traits: ["Jobs"])),
                .product(
                    name: "DurableJobsPostgres", package: "swift-operations",
                    condition: .when(traits: ["Jobs"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ]
        ),
        .executableTarget(
            name: "queues",
            dependencies: [
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                .product(name: "OperationsTelemetry", package: "swift-operations"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ]
        ),
    ]
)
