/// Increments a tally when it is released.
package final class Token: Sendable {
    private let releases: Tally
    package init(_ releases: Tally) { self.releases = releases }
    deinit { releases.increment() }
}
