// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "app-model",
    platforms: [.macOS(.v26)],
    products: [.executable(name: "app-model", targets: ["app-model"])],
    dependencies: [
        // This repository, by its tags. In a package of your own: its address.
        .package(url: "../..", from: "0.2.0")
    ],
    targets: [
        .executableTarget(
            name: "app-model",
            dependencies: [.product(name: "Operations", package: "swift-operations")])
    ]
)
