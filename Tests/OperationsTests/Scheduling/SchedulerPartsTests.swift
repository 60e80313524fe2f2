import Dispatch
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations
@testable import OperationsRuntime

/// Each part of the scheduler in isolation.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct SchedulerPartsTests {
    @Test func ringAllocatesNothingUntilItGrows() {
        var ring = OperationRing()
        let hasSpace = ring.hasSpace(for: 1)
        #expect(ring.capacity == 0 && !hasSpace)
        for lane in 0...OperationRing.cancelledLane {
            #expect(ring.readyCount(lane) == 0 && ring.firstReady(lane) == nil)
            #expect(ring.lastReady(lane) == nil)
        }
        ring.growOrCompact(for: 1) { _, _, _ in Issue.record("there is no operation to move") }
        let operation = BlockOperation {}
        let place = ring.append(.operation(.passUnretained(operation)))
        ring.setReady(place, lane: 2)
        #expect(place == 0 && ring.capacity == 64 && ring.firstReady(2) == 0)
        // The lanes of other rings are not affected.
        #expect(OperationRing().readyCount(2) == 0)
    }

    @Test func ringGrowsAtOnceForManyAdditions() {
        var ring = OperationRing()
        ring.growOrCompact(for: 65) { _, _, _ in Issue.record("there is no operation to move") }
        #expect(ring.capacity == 128)
        let operation = BlockOperation {}
        for _ in 0..<100 { _ = ring.append(.operation(.passUnretained(operation))) }
        ring.setReady(99, lane: 1)
        for place in 0..<90 {
            ring.vacate(place, count: 1)
            ring.advanceHead()
        }
        let (some, more) = (ring.hasSpace(for: 118), ring.hasSpace(for: 119))
        #expect(some && !more)
        // Ten operations are already together at the end.
        ring.growOrCompact(for: 50) { _, old, new in #expect(new == old) }
        #expect(ring.capacity == 128 && ring.firstReady(1) == 99)
        ring.growOrCompact(for: 1_000) { _, _, _ in Issue.record("the ring grows") }
        #expect(ring.capacity == 1_024 && ring.count == 10 && ring.firstReady(1) == 99)
    }

    /// A ring beside dictionaries of its entries, both changed at random.
    @Test(arguments: seeds(count: rounds(20)))
    func ringKeepsEntriesAndLanes(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ring = Ring<Int>()
        /// The entries by their places, and the lanes of the ready ones.
        var (entries, lanes): ([Int: Int], [Int: Int]) = ([:], [:])
        var lastEntry = 0
        // How likely an addition is, in per cent: some rings become full, others stay nearly empty.
        let additions = 30 + random.below(40)
        func ready(_ lane: Int) -> [Int] {
            entries.filter { lanes[$0.value] == lane }.map(\.key).sorted()
        }
        for _ in 0..<800 {
            let place = entries.keys.randomElement(using: &random)
            let lane = random.below(6)
            switch random.below(100) {
            case ..<additions:
                let count = random.happens(1, in: 20) ? 1 + random.below(200) : 1
                if !ring.hasSpace(for: count) {
                    var moved: [Int: Int] = [:]
                    ring.growOrCompact(for: count) { entry, old, new in
                        #expect(entries[old] == entry)
                        moved[new] = entry
                    }
                    if !moved.isEmpty {
                        func inOrder(_ entries: [Int: Int]) -> [Int] {
                            entries.sorted { $0.key < $1.key }.map(\.value)
                        }
                        #expect(inOrder(moved) == inOrder(entries))
                        entries = moved
                    }
                }
                for _ in 0..<count {
                    lastEntry += 1
                    let place = ring.append(lastEntry)
                    entries[place] = lastEntry
                    guard random.happens(3, in: 4) else { continue }
                    lanes[lastEntry] = random.happens(3, in: 4) ? 2 : lane
                    ring.setReady(place, lane: lanes[lastEntry] ?? 0)
                }
            case ..<70:
                guard let place, let entry = entries[place] else { continue }
                if let lane = lanes.removeValue(forKey: entry) {
                    ring.clearReady(place, lane: lane)
                } else if random.happens(1, in: 2) {
                    lanes[entry] = lane
                    ring.setReady(place, lane: lane)
                }
            case ..<85:
                let limit = 1 + random.below(40)
                let expected = Array(ready(lane).prefix(limit))
                var taken: [Int] = []
                ring.takeReady(lane, limit: limit) { slots, place, count in
                    for index in 0..<count where slots[index] == entries[place + index] {
                        taken.append(place + index)
                    }
                }
                #expect(taken == expected)
                for place in taken { entries[place].map { lanes[$0] = nil } }
            case ..<88:
                let other = (lane + 1 + random.below(5)) % 6
                let moving = ready(lane).compactMap { entries[$0] }.filter { $0 % 3 != 0 }
                let moved = ring.moveReady(from: lane, to: other) { $0 % 3 != 0 }
                #expect(moved == moving.count)
                for entry in moving { lanes[entry] = other }
            default:
                guard let place else { continue }
                let neighbors = (place..<place + 70).prefix { place in
                    entries[place].map { lanes[$0] == nil } ?? false
                }
                if neighbors.isEmpty { continue }
                ring.vacate(place, count: neighbors.count)
                ring.advanceHead()
                for place in neighbors { entries[place] = nil }
            }
            #expect(ring.count == entries.count && ring.readyCount(lane) == ready(lane).count)
            #expect(ring.head == entries.keys.min() ?? ring.tail)
            guard random.happens(1, in: 10) else { continue }
            let (first, last) = (ring.firstReady(lane), ring.lastReady(lane))
            #expect(first == ready(lane).first && last == ready(lane).last)
            var found: [Int: Int] = [:]
            ring.forEach { found[$0] = $1 }
            #expect(found == entries)
            let areReady = entries.allSatisfy {
                ring.isReady($0.key, lane: lane) == (lanes[$0.value] == lane)
            }
            #expect(areReady)
        }
    }

    /// After another worker has run all operations of a claim, the claim must not report again that
    /// the queue has become empty.
    @Test func fullyReclaimedClaimDoesNotEmptyQueue() {
        var state = QueueState()
        let queue = OperationQueue()
        let operation = BlockOperation {}
        _ = state.add(operation, to: queue)
        let (first, second) = (Claim(), Claim())
        guard case .claim = state.executorRequestedWork(first, cores: 1) else {
            Issue.record("nothing was claimed")
            return
        }
        #expect(state.reclaimRest(of: first).ended.isEmpty)
        guard case .claim = state.executorRequestedWork(second, cores: 1) else {
            Issue.record("the reclaimed operation was not claimed again")
            return
        }
        #expect(second.takeNext() != nil)
        _ = operation.exchange { $0.finished() }
        let departures = [
            state.retire(second, nanoseconds: 1)?.isEmpty,
            state.retire(first, nanoseconds: 1)?.isEmpty,
        ]
        #expect(departures == [true, false])
        // Releases the reference that the ring held.
        Unmanaged.passUnretained(operation).release()
    }

    private func after(
        _ state: LifecycleState, _ events: ((inout LifecycleState) -> LifecycleState.Actions?)...
    ) -> LifecycleState? {
        var state = state
        for event in events where event(&state) == nil { return nil }
        return state
    }

    @Test func dependencyAddedAtLastMomentPreventsStart() throws {
        let held = try #require(
            after(
                LifecycleState(), { $0.enqueued() }, { $0.becameReady(wasReady: true) },
                { $0.claimed(takesSlot: true) }, { $0.dependencyAdded() }))
        #expect(after(held, { $0.startingFromQueue() }) == nil)
        #expect(after(held, { $0.cancelRequested() }, { $0.startingFromQueue() }) != nil)
    }

    @Test func announcedCancellationDelaysStartUntilCancelled() throws {
        let announced = try #require(
            after(
                LifecycleState(), { $0.enqueued() }, { $0.becameReady(wasReady: true) },
                { $0.claimed(takesSlot: true) }, { $0.cancellationAnnounced() }))
        #expect(after(announced, { $0.startingFromQueue() }) == nil)
        let waiting = try #require(after(announced, { $0.returnedToQueue() }))
        #expect(waiting.phase == .waiting && !waiting.has([.holdsSlot, .claimedAlone]))
        #expect(after(waiting, { $0.mayBeReady() })?.phase == .waiting)
        #expect(after(waiting, { $0.readinessAnnounced() })?.phase == .waiting)
        // A subclass that ends by itself was not cancelled.
        #expect(after(waiting, { $0.finished() })?.isCancelled == false)
        let cancelled = try #require(after(waiting, { $0.cancelRequested() }))
        #expect(cancelled.phase == .checkingReadiness)
        #expect(
            after(cancelled, { $0.becameReady(wasReady: true) }, { $0.startingFromQueue() }) != nil)
    }

    /// The operation has begun. The announcement of a cancellation stops no executing operation.
    @Test func cancellationAnnouncedAfterStartDoesNotStopOperation() throws {
        let starting = try #require(
            after(
                LifecycleState(), { $0.enqueued() }, { $0.becameReady(wasReady: true) },
                { $0.startingFromQueue() }, { $0.cancellationAnnounced() }))
        #expect(after(starting, { $0.startRequested() })?.phase == .executing)
        #expect(after(starting, { $0.failed() }, { $0.finished() })?.outcome == .failed)
        let cancelled = try #require(after(starting, { $0.cancelRequested() }))
        #expect(after(cancelled, { $0.startRequested() }) == nil)
    }

    /// No subclass overrides the `cancel()` of an operation on the fast path.
    @Test func announcedCancellationCancelsFastPathOperation() throws {
        let announced = try #require(
            after(
                LifecycleState(usesFastPath: true), { $0.enqueued() },
                { $0.cancellationAnnounced() }))
        #expect(after(announced, { $0.begunOnFastPath() })?.isCancelled == true)
        #expect(after(announced, { $0.finished() })?.isCancelled == true)
    }

    @Test func overrideMayReportReadyDespiteDependencies() throws {
        let checking = try #require(
            after(LifecycleState(), { $0.dependencyAdded() }, { $0.enqueued() }))
        let overriding = try #require(after(checking, { $0.becameReady(wasReady: false) }))
        #expect(overriding.phase == .queued && !overriding.isReady)
        #expect(after(overriding, { $0.removedFromReady() }) == nil)
        #expect(after(overriding, { $0.startingFromQueue() }) != nil)
        // The result may have come from `Operation` itself, not from the override.
        let unsure = try #require(
            after(
                checking, { $0.dependencyFinished() }, { $0.dependencyAdded() },
                { $0.becameReady(wasReady: false) }))
        #expect(unsure.phase == .checkingReadiness && !unsure.has(.askAgain))
        let late = try #require(
            after(
                LifecycleState(), { $0.enqueued() }, { $0.dependencyAdded() },
                { $0.becameReady(wasReady: true) }))
        #expect(late.phase == .checkingReadiness)
        // An override cannot release a hold that a trait has set.
        let held = try #require(
            after(checking, { $0.putOnHold() }, { $0.becameReady(wasReady: false) }))
        #expect(held.phase == .checkingReadiness)
    }

    @Test func removingSelfDependencyDoesNothing() {
        let operation = Operation()
        operation.removeDependency(operation)
        #expect(operation.dependencies.isEmpty)
    }

    /// Compares the results with a search of all paths.
    @Test(arguments: seeds(count: 20))
    func dependencyIsRefusedExactlyIfItClosesCycle(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let operations = (0..<40).map { _ in Operation() }
        var reaches = [[Bool]](repeating: .init(repeating: false, count: 40), count: 40)
        for index in 0..<40 { reaches[index][index] = true }
        for _ in 0..<400 {
            let (a, b) = (random.below(40), random.below(40))
            if a == b { continue }
            do {
                try operations[a].addDependencyChecked(operations[b])
                #expect(!reaches[b][a])
            } catch {
                #expect(reaches[b][a])
                continue
            }
            for from in 0..<40 where reaches[from][a] {
                for to in 0..<40 where reaches[b][to] { reaches[from][to] = true }
            }
        }
    }

    /// Operations of subclasses are claimed by themselves, and the others up to the next one of
    /// those.
    @Test(arguments: [false, true])
    func operationsOfSubclassesEndClaims(areCancelled: Bool) {
        class Subclass: Operation, @unchecked Sendable {}
        var state = QueueState(width: -1)
        let queue = OperationQueue()
        let operations = (0..<12).map { index -> Operation in
            index % 6 == 3 ? Subclass() : BlockOperation {}
        }
        for operation in operations {
            _ = state.add(operation, to: queue)
            if operation.status.phase == .checkingReadiness {
                _ = operation.exchange { $0.becameReady(wasReady: true) }
                state.insertReady(operation)
            }
        }
        state.slots.pace.typicalNanoseconds = 10
        if areCancelled { _ = state.cancelAll(because: .requested, except: nil) }
        var sizes: [Int] = []
        var claims: [Claim] = []
        while true {
            let claim = Claim()
            switch state.executorRequestedWork(claim, cores: 1) {
            case .single(let operation):
                operation.release()
                sizes.append(1)
            case .claim:
                var count = 0
                while claim.takeNext() != nil { count += 1 }
                sizes.append(count)
                claims.append(claim)
            case .none, .refused:
                // The two have to be cancelled by their own method, and stay where they are.
                #expect(sizes == (areCancelled ? [10, 1, 1] : [3, 1, 5, 1, 2]))
                for operation in operations { Unmanaged.passUnretained(operation).release() }
                return
            }
        }
    }

    @Test func claimHandsOutEachOperationOnce() async {
        for _ in 0..<200 {
            let claim = Claim()
            let operations = (0..<32).map { _ in Operation() }
            claim.claimed(slots: .one, recallEpoch: 0) { filling in
                for (index, operation) in operations.enumerated() {
                    filling.append(.operation(.passUnretained(operation)), at: index)
                }
            }
            let counts = TestRecorder<Int>()
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    var taken = 0
                    while claim.takeNext() != nil { taken += 1 }
                    counts.record(taken)
                }
                group.addTask {
                    var reclaimed = 0
                    claim.reclaimRest { _, _ in reclaimed += 1 }
                    counts.record(reclaimed)
                }
            }
            #expect(counts.events.reduce(0, +) == 32)
        }
    }

    @Test(arguments: seeds(1, 2, 3))
    func ticketListKeepsOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var list = TicketList<Int>()
        var expected: [(ticket: Int, element: Int)] = []
        for element in 0..<5_000 {
            if random.happens(1, in: 2) {
                expected.append((list.append(element), element))
            } else if !expected.isEmpty {
                // Often the first or the last element, as when waiters leave.
                let index = [0, expected.count - 1, random.below(expected.count)][random.below(3)]
                let (ticket, element) = expected.remove(at: index)
                #expect(list.contains(ticket))
                let (removed, again) = (list.remove(ticket), list.remove(ticket))
                #expect(removed == element && again == nil, "seed \(seed)")
                #expect(!list.contains(ticket))
            }
            guard random.happens(1, in: 20) else { continue }
            #expect(list.elements == expected.map(\.element), "seed \(seed)")
            #expect(list.first == expected.first?.element && list.count == expected.count)
        }
        let rest = list.takeAll()
        #expect(rest == expected.map(\.element))
        #expect(list.isEmpty && list.first == nil)
        let removed = expected.first.flatMap { list.remove($0.ticket) }
        #expect(removed == nil)
        let ticket = list.append(1)
        #expect(ticket > (expected.last?.ticket ?? 0))
    }

    /// Compares a list whose tickets the caller draws with a sorted array.
    @Test(arguments: seeds(1, 2, 3, 4))
    func ticketListKeepsTheOrderOfGivenTickets(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var list = TicketList<Int>()
        var expected: [Int] = []
        var outside = Array((0..<400).reversed())
        for _ in 0..<800 {
            if random.happens(1, in: 2), let ticket = outside.popLast() {
                list.insert(ticket, ticket: ticket)
                expected.append(ticket)
                expected.sort()
            } else if !expected.isEmpty {
                let takesFirst = random.happens(1, in: 2)
                let index = takesFirst ? 0 : random.below(expected.count)
                let ticket = expected.remove(at: index)
                let removed = takesFirst ? list.popFirst() : list.remove(ticket)
                let again = list.remove(ticket)
                #expect(removed == ticket && again == nil, "seed \(seed)")
                // The element comes back with its old ticket, sooner or later.
                outside.insert(ticket, at: random.below(outside.count + 1))
            }
            #expect(list.first == expected.first && list.count == expected.count, "seed \(seed)")
            let ticket = random.below(400)
            #expect(list.count(before: ticket) == expected.count { $0 < ticket }, "seed \(seed)")
            #expect(list.firstTicket == expected.first, "seed \(seed)")
        }
        #expect(list.elements == expected)
    }

    @Test func slowOperationDelaysNoOtherOnAConcurrentQueue() async {
        let queue = suspendedQueue()
        queue.underlyingQueue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        queue.claimsSeveral()
        let (second, seen) = (Signal(), TestRecorder<Bool>())
        queue.addOperation { seen.record(second.wait()) }
        queue.addOperation { second.send() }
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events == [true])
    }

    /// A queue that once had very many operations does not keep the memory for their places.
    @Test(
        .disabled(if: isThreadSanitized, "it is slow, and one thread does everything"),
        arguments: [true, false])
    func emptyQueueGivesBackItsMemory(blocks: Bool) async {
        let queue = suspendedQueue()
        let count = 2 * mostKeptCapacity
        if blocks {
            for _ in 0..<count { queue.addOperation {} }
        } else {
            for _ in 0..<count { queue.addOperation(Operation()) }
        }
        #expect(queue.snapshot { $0.ring.capacity } >= count)
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.snapshot { $0.ring.capacity } <= mostKeptCapacity)
        // The queue goes on as before.
        let operations = (0..<100).map { _ in Operation() }
        for operation in operations { queue.addOperation(operation) }
        queue.addOperation {}
        await queue.drain()
        #expect(operations.allSatisfy(\.isFinished) && queue.operationCount == 0)
    }
}
