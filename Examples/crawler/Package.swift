// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "crawler",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "crawler", targets: ["crawler"])],
    dependencies: [
        // This repository, by its tags. In a package of your own: its address.
        .package(url: "../..", from: "0.2.0")
    ],
    targets: [
        .executableTarget(
            name: "crawler",
            dependencies: [.product(name: "OperationsFoundation", package: "swift-operations")])
    ]
)
