import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsRuntime

/// The rules as a table: what happens to an operation, and what it comes to.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QualityOfServiceStateTests {
    enum Event: Sendable {
        case set(QualityOfService)
        case promote(QualityOfService)
        case queue(QualityOfService)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let inferred: QualityOfService
        let events: [Event]
        let effective: QualityOfService
        /// What the thread goes by.
        let inForce: QualityOfService

        init(
            _ inferred: QualityOfService, _ events: [Event], _ effective: QualityOfService,
            inForce: QualityOfService? = nil
        ) {
            self.inferred = inferred
            self.events = events
            self.effective = effective
            self.inForce = inForce ?? effective
        }

        var testDescription: String { "made in \(inferred), \(events): \(effective)" }
    }

    static let rows: [Row] = [
        Row(.default, [], .default),
        Row(.userInitiated, [], .userInitiated),
        Row(.background, [], .background),
        // What was set replaces what was inferred, also by `default`, also by less.
        Row(.userInitiated, [.set(.default)], .default),
        Row(.userInitiated, [.set(.background)], .background),
        Row(.background, [.set(.userInteractive)], .userInteractive),
        Row(.default, [.set(.utility), .set(.background)], .background),
        // The highest of all counts, in whatever order they come.
        Row(.default, [.set(.utility), .queue(.background)], .utility),
        Row(.default, [.queue(.background), .set(.utility)], .utility),
        Row(.default, [.set(.background), .queue(.utility)], .utility),
        Row(.default, [.set(.background), .promote(.userInitiated)], .userInitiated),
        Row(.userInitiated, [.promote(.utility)], .userInitiated),
        Row(.userInitiated, [.queue(.background)], .userInitiated),
        // A promotion is never taken back, and shows when what hid it has gone.
        Row(.default, [.promote(.userInteractive), .promote(.background)], .userInteractive),
        Row(.default, [.queue(.userInteractive), .queue(.background)], .userInteractive),
        Row(
            .default, [.set(.userInitiated), .promote(.utility), .set(.background)], .utility),
        // `default` says nothing.
        Row(.background, [.promote(.default), .queue(.default)], .background),
        Row(.default, [.promote(.default), .queue(.default)], .default),
        Row(.default, [.set(.default), .queue(.utility)], .utility),
        // Only what is said about the operation itself makes its thread nice.
        Row(.default, [.promote(.background)], .background, inForce: .default),
        Row(.default, [.set(.default), .promote(.utility)], .utility, inForce: .default),
        Row(.default, [.promote(.background), .queue(.background)], .background),
        Row(.default, [.promote(.userInteractive)], .userInteractive),
    ]

    @Test(arguments: rows)
    func rankInForceIsTheLargest(row: Row) {
        var state = QualityOfServiceState(inferred: row.inferred.rank)
        for event in row.events {
            let before = state
            let changed =
                switch event {
                case .set(let quality): state.set(quality)
                case .promote(let quality): state.promote(to: quality.rank)
                case .queue(let quality): state.promoteByQueue(to: quality.rank)
                }
            #expect(changed == (state != before))
        }
        #expect(QualityOfService(rank: state.effectiveRank) == row.effective)
        #expect(QualityOfService(rank: state.rankInForce) == row.inForce)
        let usual: [QualityOfService] = [.default, .userInitiated]
        #expect(state.isUnusual == !usual.contains(row.inForce))
    }

    @Test func propertyIgnoresTheInferredQuality() {
        var state = QualityOfServiceState(inferred: 3)
        #expect(state.property == .default)
        _ = state.promote(to: 4)
        #expect(state.property == .default)
        _ = state.set(.utility)
        #expect(state.property == .utility)
    }

    @Test func stateIsPromotedAtMostFourTimes() {
        for first in 1...4 {
            for second in 1...4 {
                var state = QualityOfServiceState()
                var count = 0
                for rank in [first, second, 1, 2, 3, 4, 1, 2, 3, 4, first, second] {
                    if state.promote(to: rank) { count += 1 }
                }
                #expect(count <= 4)
                #expect(state.effectiveRank == 4)
            }
        }
    }

    @Test func ranksAreInTheOrderOfQualities() {
        let rising: [QualityOfService] = [
            .default, .background, .utility, .userInitiated, .userInteractive,
        ]
        #expect(rising.map(\.rank) == [0, 1, 2, 3, 4])
        #expect(rising.map { QualityOfService(rank: $0.rank) } == rising)
        #expect((0...4).map { Urgency(rank: $0).nicenessOffset } == [0, 10, 5, 0, -5])
    }

    @Test func lifecycleStateKeepsQualityAndOtherFields() {
        var state = LifecycleState()
        state.lane = Operation.QueuePriority.veryHigh.lane
        state.insert([.barrier, .observed])
        _ = state.dependencyAdded()
        let before = state
        _ = state.qualityEvent { $0.set(.userInitiated) }
        #expect(!state.has(.needsSetup))
        _ = state.qualityEvent { $0.promote(to: 4) }
        #expect(state.has(.needsSetup))
        #expect(state.priority == .veryHigh)
        #expect(state.has(.barrier) && state.has(.observed))
        #expect(state.unfinishedDependencies == 1)
        state.quality = QualityOfServiceState()
        state.remove(.needsSetup)
        #expect(state == before)
    }
}
