import Operations

/// Overrides `main()` and nothing else.
final class SubclassedOperation: Operation, @unchecked Sendable {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    override func main() { work() }
}
