extension Changes {
    /// The indices of a hundred operations, or of all if there are fewer, spread over the whole
    /// queue.
    static func victims(among count: Int) -> [Int] {
        let victims = min(100, count)
        return (0..<victims).map { $0 * count / victims }
    }

    /// The duration of one call, computed from the total of all calls.
    func each(of count: Int) -> Changes {
        Changes(
            priority: priority / count, addDependency: addDependency / count,
            removeDependency: removeDependency / count, cancel: cancel / count)
    }
}
