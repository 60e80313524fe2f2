import OperationsRuntime

/// What a round has found to be wrong.
final class Violations: Sendable {
    private let found = Locked([String]())

    func add(_ violation: String) { found.withLock { if $0.count < 20 { $0.append(violation) } } }

    var all: [String] { found.withLock { $0 } }
}
