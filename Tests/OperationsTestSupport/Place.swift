/// The place where operations are made, which decides how they get their task.
///
/// Operations that are made outside of tasks share one task while none of them suspends. Each
/// operation that is made inside a task has a task of its own. The difference must not be visible.
package enum Place: CaseIterable {
    case insideOfTask, outside

    package func make<Made: Sendable>(_ body: @escaping @Sendable () -> Made) async -> Made {
        switch self {
        case .insideOfTask: body()
        case .outside: await onThread(body)
        }
    }
}
