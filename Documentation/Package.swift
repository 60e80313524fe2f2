// swift-tools-version: 6.2
import PackageDescription

// Builds the libraries' documentation, with `make site`. A package of its own, so that users of the
// libraries do not fetch the plugin. Its sources are links to the libraries' own.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .define("Telemetry"),
    .define("DefaultExecutor"),
    .define("ServiceLifecycle"),
    .define("Configuration"),
    .define("DurableJobs"),
    .define("DurableJobsPostgres"),
    .define("PhotoImaging"),
    .define("PhotoPipeline"),
]

let package = Package(
    // The documentation names each snippet by the name of its package.
    name: "swift-operations",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"),
    ],
    targets: [
        .target(name: "OperationsRuntime", swiftSettings: settings),
        .target(
            name: "Operations", dependencies: ["OperationsRuntime"], swiftSettings: settings),
        .target(
            name: "OperationsFoundation", dependencies: ["Operations"], swiftSettings: settings),
        .target(
            name: "OperationsTestKit", dependencies: ["Operations", "OperationsRuntime"],
            swiftSettings: settings),
        .target(
            name: "OperationsInsight", dependencies: ["Operations", "OperationsRuntime"],
            swiftSettings: settings),
        .target(
            name: "OperationsTelemetry",
            dependencies: [
                "Operations", "OperationsInsight", "OperationsRuntime",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
        .target(
            name: "OperationsDefaultExecutor", dependencies: ["Operations", "OperationsRuntime"],
            swiftSettings: settings),
        .target(
            name: "OperationsServiceLifecycle",
            dependencies: [
                "Operations",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .target(
            name: "DurableJobs",
            dependencies: [
                "Operations", "OperationsRuntime",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings),
        .systemLibrary(
            name: "CDurableJobsLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "DurableJobsPostgres",
            dependencies: ["DurableJobs", "Operations", "OperationsRuntime", "CDurableJobsLibPQ"],
            swiftSettings: settings),
        .target(
            name: "DurableJobsTelemetry",
            dependencies: [
                "DurableJobs", "Operations", "OperationsRuntime",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings),
        .target(
            name: "DurableJobsTestKit",
            dependencies: ["DurableJobs", "Operations", "OperationsTestKit"],
            swiftSettings: settings),
        // Only their headers are needed: without a definition, their sources are empty.
        .target(name: "CPhotoVips"),
        .target(name: "CPhotoCurl"),
        .target(name: "PhotoImaging", dependencies: ["CPhotoVips"], swiftSettings: settings),
        .target(
            name: "PhotoPipeline",
            dependencies: [
                "CPhotoCurl", "Operations", "OperationsInsight", "PhotoImaging",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings),
    ]
)
