// What people try first in place of scopes and concurrent maps, with the name that is right.

/// Not available: use ``withOperationQueue(name:width:onFailure:isolation:_:)``.
@available(*, unavailable, renamed: "withOperationQueue")
public func withOperations<Value>(
    _ body: (OperationQueue) async throws -> Value
) async throws -> Value { try await withOperationQueue(body) }

extension Sequence where Element: Sendable {
    /// Not available: use ``concurrentMap(width:isolation:_:)``.
    @available(*, unavailable, renamed: "concurrentMap(width:_:)")
    public func concurrentMap<Output: Sendable>(
        limit: Int, _ transform: @escaping @Sendable (Element) async throws -> Output
    ) async throws -> [Output] { [] }

    /// Not available: use ``concurrentForEach(width:isolation:_:)``.
    @available(*, unavailable, renamed: "concurrentForEach(width:_:)")
    public func concurrentForEach(
        limit: Int, _ body: @escaping @Sendable (Element) async throws -> Void
    ) async throws {}
}
