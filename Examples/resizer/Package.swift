// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "resizer",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "resizer", targets: ["resizer"])],
    dependencies: [
        // This repository, by its tags. In a package of your own: its address.
        .package(url: "../..", from: "0.2.0", traits: ["PhotoImaging"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "resizer",
            dependencies: [
                .product(name: "Operations", package: "swift-operations"),
                .product(name: "PhotoImaging", package: "swift-operations"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ])
    ]
)
