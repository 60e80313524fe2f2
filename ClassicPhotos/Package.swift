// swift-tools-version: 6.2
import PackageDescription

// All Swift targets use the same settings: Swift 6 mode, explicit existentials and imports, and
// warnings as errors.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// The library of pictures, and the loader of photos: products of the package above.
let imaging = Target.Dependency.product(name: "PhotoImaging", package: "swift-operations")
let pipeline = Target.Dependency.product(name: "PhotoPipeline", package: "swift-operations")

/// The demo's photos and their server, and what tests use of them.
let demoOrigin = Target.Dependency.product(name: "DemoOrigin", package: "classic-photos-demo")
let landscapes = Target.Dependency.product(name: "Landscapes", package: "classic-photos-demo")
let testClient = Target.Dependency.product(
    name: "HTTPTestClient", package: "classic-photos-demo")

/// The helpers that the tests of both packages use.
let testSupport = Target.Dependency.product(
    name: "_OperationsTestSupport", package: "swift-operations")

/// The documentation needs all libraries. What the tests build has them, and the program does not.
let everyLibrary = Package.Dependency.Trait.Condition.when(traits: ["EveryLibrary"])

// A separate package, so that users of the library do not fetch the app's dependencies. The app is
// a program, so it names one version of each of them.
let package = Package(
    name: "classic-photos",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "classicphotos", targets: ["classicphotos"])
    ],
    traits: [
        .trait(
            name: "EveryLibrary",
            description: "Also compiles the libraries that the app does not use.")
    ],
    dependencies: [
        .package(
            name: "swift-operations", path: "..",
            traits: [
                "DurableJobsDashboard", "DurableJobsPostgres", "PhotoPipeline",
                .trait(name: "Configuration", condition: everyLibrary),
                .trait(name: "DefaultExecutor", condition: everyLibrary),
                .trait(name: "ServiceLifecycle", condition: everyLibrary),
                .trait(name: "Telemetry", condition: everyLibrary),
            ]),
        .package(name: "classic-photos-demo", path: "Demo"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", exact: "1.5.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", exact: "1.0.2"),
    ],
    targets: [
        .systemLibrary(name: "CAllocator"),
        .systemLibrary(name: "Clibz", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "PhotoLibrary",
            dependencies: [
                imaging, pipeline,
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PhotoJobs",
            dependencies: [
                imaging, "PhotoLibrary", pipeline,
                .product(name: "DurableJobFiles", package: "swift-operations"),
                .product(name: "DurableJobs", package: "swift-operations"),
                .product(name: "DurableJobsPostgres", package: "swift-operations"),
                .product(name: "Operations", package: "swift-operations"),
            ],
            swiftSettings: settings
        ),
        .plugin(name: "EmbedPage", capability: .buildTool()),
        .target(
            name: "PhotoGallery",
            dependencies: [
                "CAllocator", "Clibz", imaging, "PhotoLibrary", pipeline,
                .product(name: "Departures", package: "classic-photos-demo"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            exclude: ["Page"],
            swiftSettings: settings,
            plugins: ["EmbedPage"]
        ),
        .executableTarget(
            name: "classicphotos",
            dependencies: [
                demoOrigin, imaging, "PhotoGallery", "PhotoJobs", "PhotoLibrary", pipeline,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DurableJobs", package: "swift-operations"),
                .product(name: "DurableJobsDashboard", package: "swift-operations"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                "Yams",
            ],
            swiftSettings: settings
        ),
        // Measures the loader; a script in Benchmarks runs it.
        .executableTarget(
            name: "photoloads", dependencies: [demoOrigin, imaging, pipeline],
            swiftSettings: settings),
        .target(
            name: "EveryLibrary",
            dependencies: [
                "DurableJobFiles", "DurableJobs", "DurableJobsDashboard", "DurableJobsPostgres",
                "DurableJobsTelemetry",
                "DurableJobsTestKit", "Operations", "OperationsDefaultExecutor",
                "OperationsFoundation", "OperationsInsight", "OperationsServiceLifecycle",
                "OperationsTelemetry",
                "OperationsTestKit", "PhotoImaging", "PhotoPipeline",
            ].map { .product(name: $0, package: "swift-operations") },
            path: "Tests/EveryLibrary", swiftSettings: settings
        ),
        // Writes raw files for tests.
        .target(name: "RawFiles", path: "Tests/RawFiles", swiftSettings: settings),
        // What the tests of the loader and those of the library use.
        .target(
            name: "PhotoTestSupport",
            dependencies: [
                imaging, pipeline,
                .product(name: "OperationsInsight", package: "swift-operations"),
                testSupport,
            ],
            path: "Tests/PhotoTestSupport", swiftSettings: settings),
        .testTarget(
            name: "PhotoImagingTests", dependencies: [imaging, "RawFiles", testSupport],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PhotoPipelineTests",
            dependencies: [
                demoOrigin, imaging, pipeline, "PhotoTestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                testSupport,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PhotoLibraryTests",
            dependencies: [
                demoOrigin, imaging, "PhotoLibrary", pipeline, "PhotoTestSupport", "RawFiles",
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                testSupport,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PhotoGalleryTests",
            dependencies: [
                "Clibz", demoOrigin, testClient, imaging, "PhotoGallery", "PhotoLibrary",
                pipeline, "PhotoTestSupport", "RawFiles",
                .product(name: "DurableJobs", package: "swift-operations"),
                .product(name: "DurableJobsDashboard", package: "swift-operations"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "OperationsInsight", package: "swift-operations"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                testSupport,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClassicPhotosTests",
            dependencies: [
                demoOrigin, testClient, imaging, landscapes, "PhotoJobs", "PhotoLibrary",
                "RawFiles", "classicphotos",
                .product(name: "DurableJobFiles", package: "swift-operations"),
                .product(name: "DurableJobs", package: "swift-operations"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
                testSupport,
            ],
            swiftSettings: settings
        ),
    ]
)
