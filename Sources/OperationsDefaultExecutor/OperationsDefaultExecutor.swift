// OperationsDefaultExecutor: makes the workers of Operations run all tasks of the process that
// prefer no other executor. Experimental, because the interface of Swift for it is.
//
// Without the package's trait `DefaultExecutor`, this module contains nothing but the declaration
// below: the compiler's error for a call names the remedy.

#if !DefaultExecutor
public import Operations

extension WorkerTaskExecutor {
    /// Needs the package trait `DefaultExecutor` of swift-operations.
    @available(
        *, unavailable,
        message: "enable the package's trait: .package(url: …, traits: [\"DefaultExecutor\"])"
    )
    public static func installAsDefault() {}
}
#elseif !compiler(>=6.3) || canImport(Darwin)
#error(
    "OperationsDefaultExecutor needs Swift 6.3 or later from swift.org, on Linux: other toolchains hide the interface for default executors. Leave out the trait DefaultExecutor, and use .operations for the tasks that block"
)
#endif
