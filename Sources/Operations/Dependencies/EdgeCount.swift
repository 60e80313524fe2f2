import Synchronization

/// Counts the dependencies that are added, for the checks of graphs.
enum EdgeCount {
    // Each group checks its graph when it starts. With nested groups, each operation would be
    // checked as often as it is deep. So a group whose members were checked with an outer graph is
    // not checked again unless a dependency has been added since to an operation that a check could
    // find. Programs without nested groups count nothing.

    private static let areGroupsNested = Atomic<Bool>(false)
    private static let edgeCount = Atomic<Int>(1)

    /// Begins to count the dependencies that are added.
    static func recordNestedGroups() {
        if !areGroupsNested.load(ordering: .relaxed) {
            areGroupsNested.store(true, ordering: .sequentiallyConsistent)
        }
    }

    /// Counts a dependency that no check knows about.
    @inline(__always)
    static func recordEdge() {
        if areGroupsNested.load(ordering: .relaxed) {
            edgeCount.add(1, ordering: .acquiringAndReleasing)
        }
    }

    /// The number of dependencies counted so far; nil if dependencies are not counted.
    ///
    /// A check that begins now knows about all dependencies for as long as the number does not
    /// change.
    static var edgesSoFar: Int? {
        areGroupsNested.load(ordering: .acquiring) ? edgeCount.load(ordering: .acquiring) : nil
    }
}
