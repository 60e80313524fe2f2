// swift-tools-version: 6.2
import PackageDescription

// The same settings as in the packages around this one.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let operations = Target.Dependency.product(name: "Operations", package: "swift-operations")
let imaging = Target.Dependency.product(name: "PhotoImaging", package: "swift-operations")
let testSupport = Target.Dependency.product(
    name: "_OperationsTestSupport", package: "swift-operations")

// What the app has only for runs without a source, and for tests: a server of painted photos. A
// package of its own, because it changes rarely: its tests run only after it has changed.
//
// The app's package names the same versions.
let package = Package(
    name: "classic-photos-demo",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "DemoOrigin", targets: ["DemoOrigin"]),
        .library(name: "Landscapes", targets: ["Landscapes"]),
        // The app's own server uses it, too. It is here, because the app depends on the demo, and
        // the demo not on the app.
        .library(name: "Departures", targets: ["Departures"]),
        // Only for tests.
        .library(name: "HTTPTestClient", targets: ["HTTPTestClient"]),
    ],
    dependencies: [
        .package(name: "swift-operations", path: "../..", traits: ["PhotoImaging"]),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // Tells both servers that a client has left.
        .target(
            name: "Departures",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            swiftSettings: settings
        ),
        // Optimized in debug builds, too: otherwise the painting takes half of the tests' time.
        .target(
            name: "Landscapes",
            swiftSettings: settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        .target(
            name: "DemoOrigin",
            dependencies: [
                "Departures", "Landscapes", imaging, operations,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPTestClient",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/HTTPTestClient", swiftSettings: settings
        ),
        .testTarget(
            name: "LandscapesTests", dependencies: ["Landscapes", testSupport],
            swiftSettings: settings),
        .testTarget(
            name: "DemoOriginTests",
            dependencies: [
                "DemoOrigin", "HTTPTestClient", "Landscapes", imaging, operations, testSupport,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ]
)
