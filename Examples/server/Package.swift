// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "server",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "server", targets: ["server"])],
    dependencies: [
        // This repository, by its tags. In a package of your own: its address.
        .package(
            url: "../..", from: "0.2.0", traits: ["DurableJobs", "ServiceLifecycle", "Telemetry"]),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .executableTarget(
            name: "server",
            dependencies: [
                .product(name: "DurableJobFiles", package: "swift-operations"),
                .product(name: "DurableJobs", package: "swift-operations"),
                .product(name: "DurableJobsTelemetry", package: "swift-operations"),
                .product(name: "OperationsFoundation", package: "swift-operations"),
                .product(name: "OperationsServiceLifecycle", package: "swift-operations"),
                .product(name: "OperationsTelemetry", package: "swift-operations"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "serverTests",
            dependencies: [
                "server",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "OperationsFoundation", package: "swift-operations"),
                .product(name: "OperationsTestKit", package: "swift-operations"),
            ]),
    ]
)
