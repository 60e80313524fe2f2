import Synchronization

/// Counts the objects that bodies capture, as they come and go.
final class Releases: Sendable {
    private let alive = Atomic<Int>(0)

    final class Token: Sendable {
        private let releases: Releases

        fileprivate init(_ releases: Releases) {
            self.releases = releases
            releases.alive.add(1, ordering: .relaxed)
        }

        deinit { releases.alive.subtract(1, ordering: .releasing) }
    }

    func token() -> Token { Token(self) }

    var count: Int { alive.load(ordering: .acquiring) }
}
