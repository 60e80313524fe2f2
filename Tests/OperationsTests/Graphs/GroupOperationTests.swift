import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct GroupOperationTests {
    struct Broken: Error, Equatable {}
    let ran = TestRecorder<String>()

    private func block(_ name: String) -> BlockOperation {
        let operation = BlockOperation { [ran] in ran.record(name) }
        operation.name = name
        return operation
    }

    @Test func membersRunBetweenPredecessorAndSuccessor() async throws {
        let queue = serialQueue()
        let (before, after) = (block("before"), block("after"))
        let group = GroupOperation("release", width: 2) {
            InOrder {
                block("a")
                GroupOperation("inner") {
                    InOrder {
                        block("b"); block("c")
                    }
                }
                block("d")
            }
        }
        try await queue.run(
            OperationGraph {
                InOrder {
                    before; group; after
                }
            })
        #expect(ran.events == ["before", "a", "b", "c", "d", "after"])
        #expect(group.name == "release" && group.members.count == 3)
        #expect(group.cancelledMembers.isEmpty)
    }

    @Test func widthLimitsMembers() async throws {
        let inside = Occupancy()
        let group = GroupOperation(width: 2) {
            for _ in 0..<50 {
                TypedOperation<Void> {
                    inside.enter()
                    await Task.yield()
                    inside.leave()
                }
            }
        }
        OperationQueue().addOperation(group)
        try await group.value
        #expect(inside.highest <= 2)
    }

    @Test func executingGroupsHoldNoThreads() async throws {
        let gate = UncancellableGate()
        let (queue, began) = (OperationQueue(), Tally())
        let groups = (0..<600).map { _ in
            GroupOperation {
                TypedOperation<Void> {
                    began.increment()
                    await gate.wait()
                }
            }
        }
        await queue.addOperations(groups, waitUntilFinished: false)
        #expect(await comesTrue { began.value == 600 })
        gate.open()
        for group in groups { try await group.value }
    }

    @Test func groupFailsWithFirstError() async {
        let failing = TypedOperation<Void> { throw Broken() }
        let group = GroupOperation("group") {
            InOrder {
                failing; block("never")
            }
            block("other")
        }
        let queue = OperationQueue()
        let next = queue.add(after: group) { [ran] _ in ran.record("next") }
        queue.addOperation(group)
        await #expect(throws: Broken()) { try await group.value }
        await next.waitUntilFinished()
        #expect(next.isCancelled && ran.events == ["other"])
        #expect(group.cancelledMembers.count == 1)
    }

    @Test func cancellingGroupCancelsMembers() async {
        let began = UncancellableGate()
        let running = TypedOperation<Void> {
            began.open()
            try await untilCancelled()
        }
        let waiting = block("waiting")
        let group = GroupOperation("group") {
            InOrder {
                running; waiting
            }
        }
        OperationQueue().addOperation(group)
        await began.wait()
        group.cancel(because: "enough")
        await group.waitUntilFinished()
        #expect(group.cancellationReason?.description == "enough")
        for member in group.members {
            #expect(member.isFinished && member.isCancelled)
            #expect(
                member.cancellationReason?.description
                    == "'group', which it is a member of, was cancelled: enough")
        }
        #expect(ran.events.isEmpty)
    }

    @Test func membersOfGroupCancelledBeforeStartEnd() async {
        let queue = suspendedQueue()
        let member = block("member")
        let inner = GroupOperation("inner") { block("deep") }
        let group = GroupOperation("group") {
            member; inner
        }
        let log = BlockOperation { [ran] in ran.record("log") }
        log.addDependency(member)
        queue.addOperation(group)
        group.cancel()
        await group.waitUntilFinished()
        #expect(member.isFinished && member.isCancelled && inner.isFinished)
        #expect(inner.members[0].isFinished)
        queue.isSuspended = false
        queue.addOperation(log)
        await queue.drain()
        #expect(ran.events == ["log"])
    }

    @Test func membersEndWheneverGroupIsCancelled() async {
        for _ in 0..<(500 / slowness) {
            let queue = OperationQueue()
            let group = GroupOperation("group") {
                InOrder {
                    block("a"); block("b")
                }
                TypedOperation<Void> { await Task.yield() }
            }
            queue.addOperation(group)
            queue.cancelAllOperations()
            await group.waitUntilFinished()
            #expect(group.members.allSatisfy { $0.isFinished })
        }
    }

    // MARK: Invalid graphs

    @Test func cycleThroughGroupIsFound() {
        let (inside, outside) = (block("inside"), block("outside"))
        let group = GroupOperation("group") { inside }
        // `outside` waits for the group, whose member waits for `outside`.
        outside.addDependency(group)
        inside.addDependency(outside)
        let error = #expect(throws: OperationGraphError.self) {
            try OperationGraph {
                outside; group
            }.validate()
        }
        #expect(error == .cycle(["'outside'", "'inside'", "'group'", "'outside'"]))
    }

    @Test func cycleThroughNestedGroupIsFound() {
        let (member, outside) = (block("member"), block("outside"))
        let outer = GroupOperation("outer") { GroupOperation("inner") { member } }
        outside.addDependency(member)
        outer.addDependency(outside)
        let error = #expect(throws: OperationGraphError.self) {
            try OperationGraph {
                outside; outer
            }.validate()
        }
        #expect(error == .cycle(["'outside'", "'member'", "'outside'"]))
    }

    @Test func operationThatMemberAddsToGroupsQueueRuns() async {
        let (gate, late) = (Operation(), block("late"))
        late.addDependency(gate)
        let queue = OperationQueue()
        let group = GroupOperation("group") {
            BlockOperation { OperationQueue.current?.addOperation(late) }
        }
        queue.addOperation(group)
        await group.finished()
        gate.start()
        await late.finished()
        #expect(ran.events == ["late"])
    }

    @Test func memberMayNotDependOnSuccessorOfItsGroup() {
        let (inside, after) = (block("inside"), block("after"))
        let group = GroupOperation("group") { inside }
        inside.addDependency(after)
        #expect(throws: OperationGraphError.self) {
            try OperationGraph {
                InOrder {
                    group; after
                }
            }.validate()
        }
    }

    @Test func membersMayDependOnOperationsOutside() async throws {
        let (inside, outside) = (block("inside"), block("outside"))
        let group = GroupOperation("group") { inside }
        inside.addDependency(outside)
        let late = block("late")
        late.addDependency(inside)
        try await OperationQueue().run(
            OperationGraph {
                late; group; outside
            })
        #expect(ran.events == ["outside", "inside", "late"])
    }

    @Test func groupFailsIfItsGraphIsInvalid() async {
        let (a, b) = (block("a"), block("b"))
        a.addDependency(b)
        let group = GroupOperation("group") {
            InOrder {
                a; b
            }
        }
        OperationQueue().addOperation(group)
        await #expect(throws: OperationGraphError.cycle(["'a'", "'b'", "'a'"])) {
            try await group.value
        }
        #expect(a.isFinished && b.isCancelled && ran.events.isEmpty)
    }

    // MARK: Explanations and nesting

    @Test func explanationsNameGroupAndMembers() async throws {
        let (gate, began, queue) = (UncancellableGate(), UncancellableGate(), suspendedQueue())
        let slow = TypedOperation<Void> {
            began.open()
            await gate.wait()
        }
        slow.name = "slow"
        let group = GroupOperation("group") {
            InOrder {
                slow; block("next")
            }
        }
        let log = block("log")
        log.addDependency(slow)
        queue.addOperation(group)
        queue.addOperation(log)
        #expect(
            "\(slow.explain())".hasPrefix(
                "'slow' starts when 'group' does, of which it is a member."))
        queue.isSuspended = false
        await began.wait()
        #expect(
            await comesTrue {
                "\(group.explain())".hasPrefix(
                    "'group' is executing, and waits for 'slow', 'next'.")
            })
        gate.open()
        try await group.value
        await queue.drain()
    }

    @Test func membersInheritTaskLocalsOfGroupsCreator() async throws {
        let group = Label.$value.withValue("group") {
            GroupOperation { BlockOperation { [ran] in ran.record(Label.value) } }
        }
        OperationQueue().addOperation(group)
        try await group.value
        #expect(ran.events == ["group"])
    }

    /// A group that was validated with its enclosing graph is validated again if a dependency was
    /// added since.
    @Test func missingInputAddedWhileOuterGroupRunsIsFound() async throws {
        let queue = OperationQueue()
        let (began, proceed) = (Signal(), Signal())
        let lost = block("lost")
        let first = BlockOperation {
            began.send()
            proceed.wait()
        }
        let member = block("member")
        let innermost = GroupOperation("innermost") { member }
        let inner = GroupOperation("inner") { innermost }
        let outer = GroupOperation("outer") {
            InOrder {
                first; inner
            }
        }
        queue.addOperation(outer)
        await onThread { _ = began.wait() }
        member.addDependency(lost)
        proceed.send()
        await #expect(
            throws: OperationGraphError.missingInput(operation: "'member'", dependency: "'lost'")
        ) { try await outer.value }
        #expect(ran.events.isEmpty)
        #expect(member.isCancelled && member.isFinished)
    }

    /// The cancellation reason of a member names its groups, and its length is limited.
    @Test func cancelledNestedGroupsEndWithShortReason() {
        let innermost = block("a")
        var last: Operation = innermost
        var groups: [GroupOperation] = []
        for index in 0..<(20_000 / slowness) {
            let inner = last
            let group = GroupOperation("group \(index)") { inner }
            groups.append(group)
            last = group
        }
        last.cancel()
        last.start()
        #expect(groups.allSatisfy { $0.isFinished && $0.isCancelled })
        #expect(innermost.isFinished && innermost.isCancelled && ran.events.isEmpty)
        let text = innermost.cancellationReason.map { "\($0)" } ?? ""
        #expect(text.contains("which it is a member of, was cancelled"))
        #expect(text.utf8.count < 1_000)
    }

    @Test func cancellingOutermostGroupCancelsInnermostMember() async {
        let began = Signal()
        let innermost = TypedOperation<Void> {
            began.send()
            try await untilCancelled()
        }
        var last: Operation = innermost
        for _ in 0..<(2_000 / slowness) {
            let inner = last
            last = GroupOperation { inner }
        }
        let queue = OperationQueue()
        queue.addOperation(last)
        await onThread { _ = began.wait() }
        last.cancel()
        #expect(innermost.isCancelled)
        await queue.drain()
        #expect(innermost.isFinished && last.isFinished)
    }
}
