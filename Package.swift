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

// On Linux, vips' own pkg-config file includes the flags of all its dependencies, and one of these
// flags makes the package manager print a warning for every target. The headers need only GObject's
// flags.
#if os(Linux)
let vips = "gobject-2.0"
#else
let vips = "vips"
#endif

let package = Package(
    name: "swift-operations",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Operations", targets: ["Operations"]),
        .library(name: "OperationsTestKit", targets: ["OperationsTestKit"]),
        .library(name: "OperationsInsight", targets: ["OperationsInsight"]),
        .library(name: "OperationsTelemetry", targets: ["OperationsTelemetry"]),
        .library(name: "PhotoPipeline", targets: ["PhotoPipeline"]),
        .executable(name: "classicphotos", targets: ["classicphotos"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        .target(name: "Operations", swiftSettings: settings),
        .target(
            name: "OperationsTestKit", dependencies: ["Operations"], swiftSettings: settings),
        .target(
            name: "OperationsInsight", dependencies: ["Operations"], swiftSettings: settings),
        .target(
            name: "OperationsTelemetry",
            dependencies: [
                "Operations", "OperationsInsight",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(name: "Clibvips", pkgConfig: vips, providers: [.apt(["libvips-dev"])]),
        .target(
            name: "CVips", dependencies: ["Clibvips"],
            linkerSettings: [.linkedLibrary("vips"), .linkedLibrary("jpeg")]),
        .target(name: "Imaging", dependencies: ["CVips"], swiftSettings: settings),
        .target(
            name: "PhotoPipeline",
            dependencies: [
                "Operations", "OperationsInsight", "Imaging",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "PhotoGallery",
            dependencies: [
                "PhotoPipeline", "Imaging",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Page")],
            swiftSettings: settings
        ),
        .target(name: "Landscapes", swiftSettings: settings),
        .target(
            name: "DemoOrigin",
            dependencies: [
                "Imaging", "Landscapes",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "classicphotos",
            dependencies: [
                "DemoOrigin", "PhotoGallery", "PhotoPipeline", "Imaging", "Operations",
                "OperationsInsight",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TestSupport", dependencies: ["Operations"], path: "Tests/TestSupport",
            swiftSettings: settings),
        .testTarget(
            name: "OperationsTests",
            dependencies: ["Operations", "OperationsTestKit", "TestSupport"],
            exclude: ["Contract/README.md"], swiftSettings: settings),
        .testTarget(
            name: "OperationsInsightTests",
            dependencies: ["Operations", "OperationsInsight", "OperationsTestKit", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "OperationsTestKitTests",
            dependencies: ["Operations", "OperationsTestKit", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "OperationsTelemetryTests",
            dependencies: [
                "Operations", "OperationsTelemetry", "OperationsTestKit", "TestSupport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ImagingTests", dependencies: ["Imaging", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "PhotoPipelineTests",
            dependencies: [
                "DemoOrigin", "Imaging", "Operations", "OperationsInsight", "PhotoPipeline",
                "TestSupport",
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PhotoGalleryTests",
            dependencies: [
                "DemoOrigin", "Imaging", "PhotoGallery", "PhotoPipeline", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LandscapesTests", dependencies: ["Landscapes", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "DemoOriginTests",
            dependencies: [
                "DemoOrigin", "Imaging", "Landscapes", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClassicPhotosTests",
            dependencies: [
                "classicphotos", "DemoOrigin", "Imaging", "TestSupport",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),
    ]
)

// Reduces the package to a part, so that repeated checks of that part build nothing else.
//
//     OPERATIONS_ONLY=1            Operations, its test kit and OperationsInsight; also shows that
//                                  they need no other package
//     OPERATIONS_ONLY=telemetry    these and OperationsTelemetry
if let part = Context.environment["OPERATIONS_ONLY"] {
    let hasTelemetry = part == "telemetry"
    let names =
        ["Operations", "OperationsTestKit", "OperationsInsight"]
        + (hasTelemetry ? ["OperationsTelemetry"] : [])
    let packages = hasTelemetry ? ["swift-distributed-tracing", "swift-log", "swift-metrics"] : []
    package.products.removeAll { !names.contains($0.name) }
    package.targets.removeAll { target in
        target.name != "TestSupport"
            && !names.contains { target.name == $0 || target.name == "\($0)Tests" }
    }
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return true }
        return !packages.contains { location.hasSuffix("/\($0)") }
    }
}
