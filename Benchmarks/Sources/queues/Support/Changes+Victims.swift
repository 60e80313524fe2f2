extension Changes {
    /// A hundred operations, or all if there are fewer, spread over the whole queue.
    static func victims(among count: Int) -> [Int] {
        let victims = min(100, count)
        return (0..<victims).map { $0 * count / victims }
    }

    /// The same for one call instead of for all of them.
    func each(of count: Int) -> Changes {
        Changes(
            priority: priority / count, addDependency: addDependency / count,
            removeDependency: removeDependency / count, cancel: cancel / count)
    }
}
