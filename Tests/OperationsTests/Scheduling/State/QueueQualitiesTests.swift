import Testing

@testable import Operations
@testable import OperationsRuntime

/// The qualities of service in a queue, without a queue.
struct QueueQualitiesTests {
    @Test func qualitiesBeginWithOneThatIsNotUsual() {
        var qualities = QueueQualities()
        let usual = (0...4).filter { Urgency(rank: $0) == .usual }
        let begun = usual.map { qualities.begin(at: $0) }
        #expect(begun.allSatisfy { !$0 } && !qualities.areInUse)
        guard let other = (0...4).first(where: { Urgency(rank: $0) != .usual }) else { return }
        let (first, second) = (qualities.begin(at: other), qualities.begin(at: other))
        #expect(first && !second && qualities.areInUse)
        qualities.endIfUnused()
        #expect(!qualities.areInUse)
    }

    /// A worker that comes with such a reference claims only work of that urgency.
    @Test func qualitiesDoNotEndWhileAReferenceCameOfOne() {
        var qualities = QueueQualities()
        guard let rank = (0...4).last(where: { Urgency(rank: $0) != .usual }) else { return }
        _ = qualities.begin(at: rank)
        _ = qualities.offered.insert(Urgency(rank: rank))
        qualities.endIfUnused()
        #expect(qualities.areInUse)
        qualities.offered.remove(Urgency(rank: rank))
        qualities.endIfUnused()
        #expect(!qualities.areInUse)
    }
}
