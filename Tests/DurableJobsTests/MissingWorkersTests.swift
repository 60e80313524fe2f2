#if DurableJobs
import Testing

@testable import DurableJobs

struct MissingWorkersTests {
    private static let lease = Duration.seconds(15)
    private static let patience = lease * MissingWorkers.patience

    /// Looks at the store every five seconds for a time, and finds a worker missing.
    private func look(
        _ missing: inout MissingWorkers, from start: Duration, for time: Duration
    ) -> Set<String> {
        var dead: Set<String> = []
        for now in stride(from: 0, through: time / .seconds(1), by: 5) {
            dead = missing.dead(now: start + .seconds(now))
            missing.found(["a"], now: start + .seconds(now))
        }
        return dead
    }

    @Test func aWorkerThatIsMissingForLongIsDead() {
        var missing = MissingWorkers(lease: Self.lease)
        let early = look(&missing, from: .seconds(1000), for: Self.patience - .seconds(5))
        #expect(early.isEmpty)
        #expect(missing.dead(now: .seconds(1000) + Self.patience) == ["a"])
    }

    @Test func theTimeBeginsAnewWhenTheStoreDoesNotAnswer() {
        var missing = MissingWorkers(lease: Self.lease)
        _ = look(&missing, from: .zero, for: Self.patience - .seconds(5))
        missing.lookFailed()
        #expect(look(&missing, from: Self.patience, for: Self.patience - .seconds(5)).isEmpty)
        #expect(missing.dead(now: Self.patience * 2) == ["a"])
    }

    /// A process that was stopped knows nothing of the time in between.
    @Test func theTimeBeginsAnewAfterAPause() {
        var missing = MissingWorkers(lease: Self.lease)
        _ = look(&missing, from: .zero, for: .seconds(10))
        #expect(missing.dead(now: Self.patience * 2).isEmpty)
        missing.found(["a"], now: Self.patience * 2)
        #expect(missing.dead(now: Self.patience * 2 + .seconds(5)).isEmpty)
    }

    @Test func aWorkerThatCameBackIsForgotten() {
        var missing = MissingWorkers(lease: Self.lease)
        _ = look(&missing, from: .zero, for: Self.patience - .seconds(5))
        missing.found(["b"], now: Self.patience - .seconds(5))
        #expect(missing.dead(now: Self.patience).isEmpty)
    }
}
#endif
