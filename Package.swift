// swift-tools-version: 6.2
import PackageDescription

// All targets use the same settings: Swift 6 mode, explicit existentials and imports, and warnings
// as errors.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

// The tests of the optimized libraries are not optimized themselves: they would take most of the
// time of such a build.
let testSettings = settings + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

// A dependency with one of these conditions is fetched and built only if the trait is enabled.
let withTelemetry = TargetDependencyCondition.when(traits: ["Telemetry"])
let withServiceLifecycle = TargetDependencyCondition.when(traits: ["ServiceLifecycle"])
let withConfiguration = TargetDependencyCondition.when(traits: ["Configuration"])
let withDurableJobs = TargetDependencyCondition.when(traits: ["DurableJobs"])
let withDurableJobsDashboard = TargetDependencyCondition.when(traits: ["DurableJobsDashboard"])
let withDurableJobsPostgres = TargetDependencyCondition.when(traits: ["DurableJobsPostgres"])
let withPhotoImaging = TargetDependencyCondition.when(traits: ["PhotoImaging"])
let withPhotoPipeline = TargetDependencyCondition.when(traits: ["PhotoPipeline"])

// On Linux, vips' own pkg-config file includes the flags of all its dependencies, and one of these
// flags makes the package manager print a warning for every target. The headers need only GObject's
// flags.
#if os(Linux)
let vips = "gobject-2.0"
#else
let vips = "vips"
#endif

let telemetry: [Target.Dependency] = [
    .product(name: "CoreMetrics", package: "swift-metrics", condition: withTelemetry),
    .product(name: "Logging", package: "swift-log", condition: withTelemetry),
    .product(name: "Tracing", package: "swift-distributed-tracing", condition: withTelemetry),
]
let serviceLifecycle = Target.Dependency.product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: withServiceLifecycle)
let unixSignals = Target.Dependency.product(
    name: "UnixSignals", package: "swift-service-lifecycle", condition: withServiceLifecycle)
// A service group has a logger.
let serviceGroups: [Target.Dependency] = [
    serviceLifecycle, unixSignals,
    .product(name: "Logging", package: "swift-log", condition: withServiceLifecycle),
]
let configuration = Target.Dependency.product(
    name: "Configuration", package: "swift-configuration", condition: withConfiguration)
// What tests read telemetry from.
let telemetryInMemory: [Target.Dependency] = [
    .product(name: "InMemoryLogging", package: "swift-log", condition: withTelemetry),
    .product(
        name: "InMemoryTracing", package: "swift-distributed-tracing", condition: withTelemetry),
    .product(name: "MetricsTestKit", package: "swift-metrics", condition: withTelemetry),
]

let package = Package(
    name: "swift-operations",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Operations", targets: ["Operations"]),
        .library(name: "OperationsFoundation", targets: ["OperationsFoundation"]),
        .library(name: "OperationsTestKit", targets: ["OperationsTestKit"]),
        .library(name: "OperationsInsight", targets: ["OperationsInsight"]),
        .library(name: "OperationsTelemetry", targets: ["OperationsTelemetry"]),
        .library(name: "OperationsDefaultExecutor", targets: ["OperationsDefaultExecutor"]),
        .library(
            name: "OperationsServiceLifecycle", targets: ["OperationsServiceLifecycle"]),
        .library(name: "DurableJobs", targets: ["DurableJobs"]),
        .library(name: "DurableJobFiles", targets: ["DurableJobFiles"]),
        .library(name: "DurableJobsDashboard", targets: ["DurableJobsDashboard"]),
        .library(name: "DurableJobsPostgres", targets: ["DurableJobsPostgres"]),
        .library(name: "DurableJobsTelemetry", targets: ["DurableJobsTelemetry"]),
        .library(name: "DurableJobsTestKit", targets: ["DurableJobsTestKit"]),
        .library(name: "PhotoImaging", targets: ["PhotoImaging"]),
        .library(name: "PhotoPipeline", targets: ["PhotoPipeline"]),
        // Only for the tests of ClassicPhotos/, in this repository.
        //
        // All targets need names that no user's target has, those in C too: the package manager
        // asks for names that are unique in a build, also of targets that the build does not use.
        .library(name: "_OperationsTestSupport", targets: ["OperationsTestSupport"]),
    ],
    traits: [
        .trait(
            name: "Telemetry",
            description: "Enables OperationsTelemetry, and fetches what it needs."),
        .trait(
            name: "DefaultExecutor",
            description: "Enables OperationsDefaultExecutor. Experimental."),
        .trait(
            name: "ServiceLifecycle",
            description: """
                Enables OperationsServiceLifecycle, makes a JobWorker a service, and fetches what \
                they need.
                """),
        .trait(
            name: "Configuration",
            description: "Lets a JobWorker read its options from swift-configuration."),
        .trait(
            name: "DurableJobs",
            description: "Enables DurableJobs with its SQLite store, which needs libsqlite3."),
        .trait(
            name: "DurableJobsPostgres",
            description: "Enables DurableJobsPostgres, which needs libpq.",
            enabledTraits: ["DurableJobs"]),
        .trait(
            name: "DurableJobsDashboard",
            description: "Enables DurableJobsDashboard, and fetches what it needs.",
            enabledTraits: ["DurableJobs"]),
        .trait(
            name: "PhotoImaging", description: "Enables PhotoImaging, which needs libvips."),
        .trait(
            name: "PhotoPipeline",
            description: "Enables PhotoPipeline, which needs libcurl, and fetches what it needs.",
            enabledTraits: ["PhotoImaging"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The ground of Operations. Users get it with Operations, and do not see it.
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
            ] + telemetry,
            swiftSettings: settings
        ),
        .target(
            name: "OperationsDefaultExecutor", dependencies: ["Operations", "OperationsRuntime"],
            swiftSettings: settings),
        .target(
            name: "OperationsServiceLifecycle",
            dependencies: ["Operations", "OperationsRuntime"] + serviceGroups,
            swiftSettings: settings),
        .target(
            name: "DurableJobs",
            dependencies: [
                "Operations", "OperationsRuntime", serviceLifecycle, configuration,
                .target(name: "CDurableJobsSQLite", condition: withDurableJobs),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(
            name: "CDurableJobsSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]
        ),
        .systemLibrary(
            name: "CDurableJobsLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .target(
            name: "DurableJobsPostgres",
            dependencies: [
                "DurableJobs", "Operations", "OperationsRuntime",
                .target(name: "CDurableJobsLibPQ", condition: withDurableJobsPostgres),
            ],
            swiftSettings: settings),
        .target(
            name: "DurableJobFiles",
            dependencies: ["DurableJobs", "Operations", "OperationsRuntime", configuration],
            swiftSettings: settings),
        .target(
            name: "DurableJobsDashboard",
            dependencies: [
                "DurableJobs",
                .product(
                    name: "HTTPTypes", package: "swift-http-types",
                    condition: withDurableJobsDashboard),
            ],
            swiftSettings: settings),
        // Uses its packages only if both traits are enabled; `Telemetry` is enough to fetch them.
        .target(
            name: "DurableJobsTelemetry",
            dependencies: [
                "DurableJobs", "Operations", "OperationsRuntime",
            ] + telemetry,
            swiftSettings: settings),
        .target(
            name: "DurableJobsTestKit",
            dependencies: ["DurableJobs", "Operations", "OperationsTestKit"],
            swiftSettings: settings),
        .systemLibrary(name: "CPhotoLibvips", pkgConfig: vips, providers: [.apt(["libvips-dev"])]),
        .systemLibrary(
            name: "CPhotoLibcurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]),
        // The sources in C are empty without the trait.
        .target(
            name: "CPhotoVips",
            dependencies: [.target(name: "CPhotoLibvips", condition: withPhotoImaging)],
            cSettings: [.define("PhotoImaging", .when(traits: ["PhotoImaging"]))],
            linkerSettings: [
                .linkedLibrary("vips", .when(traits: ["PhotoImaging"])),
                .linkedLibrary("jpeg", .when(traits: ["PhotoImaging"])),
            ]),
        .target(
            name: "CPhotoCurl",
            dependencies: [.target(name: "CPhotoLibcurl", condition: withPhotoPipeline)],
            cSettings: [.define("PhotoPipeline", .when(traits: ["PhotoPipeline"]))]),
        .target(
            name: "PhotoImaging",
            dependencies: [.target(name: "CPhotoVips", condition: withPhotoImaging)],
            swiftSettings: settings),
        .target(
            name: "PhotoPipeline",
            dependencies: [
                "Operations", "OperationsInsight", "PhotoImaging",
                .target(name: "CPhotoCurl", condition: withPhotoPipeline),
                .product(
                    name: "HTTPTypes", package: "swift-http-types", condition: withPhotoPipeline),
            ],
            swiftSettings: settings),
        .target(
            name: "OperationsTestSupport", dependencies: ["Operations", "OperationsRuntime"],
            path: "Tests/OperationsTestSupport", swiftSettings: settings),
        // A program of its own, because a round that crashes or hangs ends the process. The tests
        // run it, and `make stress`. No product: users do not build it.
        .executableTarget(
            name: "operations-stress",
            dependencies: ["Operations", "OperationsInsight", "OperationsRuntime"],
            path: "Tests/OperationsStress", swiftSettings: settings),
        .testTarget(
            name: "OperationsRuntimeTests",
            dependencies: ["OperationsRuntime", "OperationsTestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "OperationsInsightTests",
            dependencies: [
                "Operations", "OperationsInsight", "OperationsRuntime", "OperationsTestKit",
                "OperationsTestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "OperationsTestKitTests",
            dependencies: [
                "Operations", "OperationsRuntime", "OperationsTestKit", "OperationsTestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "DurableJobsTests",
            dependencies: [
                "DurableJobFiles", "DurableJobs", "DurableJobsPostgres", "DurableJobsTestKit",
                "Operations", "OperationsRuntime", "OperationsTestKit", "OperationsTestSupport",
                configuration,
                .target(name: "CDurableJobsLibPQ", condition: withDurableJobsPostgres),
                .target(name: "CDurableJobsSQLite", condition: withDurableJobs),
            ] + serviceGroups,
            swiftSettings: testSettings),
        .testTarget(
            name: "DurableJobsDashboardTests",
            dependencies: [
                "DurableJobs", "DurableJobsDashboard", "Operations", "OperationsTestSupport",
                .product(
                    name: "HTTPTypes", package: "swift-http-types",
                    condition: withDurableJobsDashboard),
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "DurableJobsTelemetryTests",
            dependencies: [
                "DurableJobs", "DurableJobsTelemetry", "Operations", "OperationsRuntime",
                "OperationsTestSupport",
            ] + telemetry + telemetryInMemory,
            swiftSettings: testSettings),
        .testTarget(
            name: "OperationsDefaultExecutorTests",
            dependencies: [
                "Operations", "OperationsDefaultExecutor", "OperationsRuntime",
                "OperationsTestSupport",
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "OperationsServiceLifecycleTests",
            dependencies: [
                "Operations", "OperationsRuntime", "OperationsServiceLifecycle",
                "OperationsTestKit", "OperationsTestSupport",
                .product(
                    name: "InMemoryLogging", package: "swift-log", condition: withServiceLifecycle),
            ] + serviceGroups,
            swiftSettings: testSettings),
        .testTarget(
            name: "OperationsTelemetryTests",
            dependencies: [
                "Operations", "OperationsRuntime", "OperationsTelemetry", "OperationsTestKit",
                "OperationsTestSupport",
            ] + telemetry + telemetryInMemory,
            swiftSettings: testSettings
        ),
    ]
)

// The tests of Operations: a target for each layer, with the folders of the library that it tests.
// The compiler builds several small modules faster than one large one.
let layersOfTests = [
    ("Contract", ["Contract"]),
    ("Executors", ["Executors"]),
    ("Explaining", ["Explaining", "Misuse", "Waiting"]),
    ("Graphs", ["Graphs"]),
    ("Lifecycle", ["Dependencies", "Lifecycle", "Outcome"]),
    ("Observation", ["Observation", "Progress", "Tracing"]),
    ("QualityOfService", ["QualityOfService"]),
    ("Scheduling", ["Room", "Scheduling"]),
    ("Structured", ["Structured"]),
    ("Traits", ["Budgets", "Keys", "Traits"]),
    ("Typed", ["Async", "Typed"]),
]

let foldersOfTests = layersOfTests.flatMap { $1 }

package.targets += layersOfTests.map { name, folders in
    .testTarget(
        name: "Operations\(name)Tests",
        dependencies: [
            "Operations", "OperationsRuntime", "OperationsTestKit", "OperationsTestSupport",
        ],
        path: "Tests/OperationsTests",
        exclude: foldersOfTests.filter { !folders.contains($0) } + ["Contract/README.md"],
        swiftSettings: testSettings)
}

// Builds the tests of some layers only: OPERATIONS_LAYERS="Graphs Typed".
if let layers = Context.environment["OPERATIONS_LAYERS"] {
    let wanted = layers.split(separator: " ").map { "Operations\($0)Tests" }
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}
