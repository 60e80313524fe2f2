import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Each reason why an operation may not run, and what `explain()` says about it.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ExplanationTests {
    typealias Reason = OperationExplanation.Reason

    private func named(
        _ name: String, _ block: @escaping @Sendable () -> Void = {}
    ) -> BlockOperation {
        let operation = BlockOperation(block: block)
        operation.name = name
        return operation
    }

    private func queue(_ name: String, width: Int = -1) -> OperationQueue {
        let queue = OperationQueue()
        queue.name = name
        queue.maxConcurrentOperationCount = width
        return queue
    }

    /// Runs `body` while an operation of the queue is executing.
    private func whileExecuting(
        _ name: String, in queue: OperationQueue, body: (Operation) async -> Void
    ) async {
        let (began, proceed) = (Signal(), Signal())
        let operation = named(name) {
            began.send()
            proceed.wait()
        }
        queue.addOperation(operation)
        #expect(await began.arrives())
        await body(operation)
        proceed.send()
        await operation.waitUntilFinished()
    }

    /// The text with times replaced by "T".
    private func text(_ explanation: some CustomStringConvertible) -> String {
        explanation.description.replacing(
            /for (\d+ µs|\d+ ms|\d+\.\d s|\d+ min)/, with: "for T")
    }

    @Test(
        arguments: [
            (.microseconds(300), "300 µs"), (.milliseconds(85), "85 ms"),
            (.milliseconds(3_290), "3.2 s"),
            (.seconds(119), "119.0 s"), (.seconds(240), "4 min"), (.seconds(119 * 60), "119 min"),
            (.seconds(3600 * 7 + 3599), "7 h"), (.seconds(3600 * 71), "2 days"),
        ] as [(Duration, String)])
    func durationsHaveShortTexts(time: Duration, text: String) {
        #expect(time.text == text)
    }

    // MARK: Not started

    @Test func explainsOperationInNoQueue() {
        let explanation = named("resize").explain()
        #expect(
            text(explanation) == "'resize' is in no queue and was not started: add it to a queue.")
        #expect(explanation.causes.map(\.reason) == [.notStarted])
        #expect(explanation.causes.map(\.path) == [["'resize'"]])
    }

    @Test func explainsDependencyInNoQueue() {
        let (download, resize) = (named("download"), named("resize"))
        resize.addDependency(download)
        queue("net").addOperation(resize)
        #expect(
            text(resize.explain())
                == "'resize' waits for 'download' (in no queue and not started).")
        resize.cancel()
    }

    @Test func explainsCancelledUnstartedDependency() {
        let (download, resize) = (named("download"), named("resize"))
        resize.addDependency(download)
        download.cancel()
        queue("net").addOperation(resize)
        #expect(
            text(resize.explain()) == """
                'resize' waits for 'download' (cancelled, but in no queue and not started).
                'resize' → 'download': 'download' was cancelled but cannot finish, because it is in no \
                queue and was not started: add it to a queue or call start().
                """)
        download.start()
    }

    @Test func explainsFinishedOperation() {
        let (done, cancelled) = (named("done"), named("cancelled"))
        done.start()
        cancelled.cancel()
        cancelled.start()
        #expect(text(done.explain()) == "'done' has finished.")
        #expect(text(cancelled.explain()) == "'cancelled' has finished; it was cancelled.")
    }

    // MARK: Executing

    @Test func explainsExecutingOperation() async {
        await whileExecuting("download", in: queue("net")) { download in
            let explanation = download.explain()
            #expect(text(explanation) == "'download' is executing for T on queue 'net'.")
            guard case .executing(let time?, let queue) = explanation.causes.first?.reason else {
                Issue.record("no execution time in \(explanation)")
                return
            }
            #expect(time >= .zero && time < .seconds(600))
            #expect(queue == "queue 'net'")
        }
    }

    @Test func executionTimeGrows() async {
        await whileExecuting("download", in: queue("net")) { download in
            func time() -> Duration? {
                guard case .executing(let time, _) = download.explain().causes.first?.reason else {
                    return nil
                }
                return time
            }
            let first = time()
            let clock = ContinuousClock()
            let start = clock.now
            while clock.now - start < .milliseconds(3) {}
            let second = time()
            #expect(first != nil && second != nil)
            if let first, let second { #expect(second - first >= .milliseconds(3)) }
        }
    }

    @Test func explainsOperationRunningAfterCancellation() async {
        let (began, proceed) = (Signal(), Signal())
        let net = queue("net")
        let row = net.add("row") {
            began.send()
            proceed.wait()
        }
        let page = TypedOperation {}
        page.name = "page"
        page.addDependency(row)
        #expect(await began.arrives())
        row.cancel(because: "it scrolled away")
        let reason = "'row' was told to stop, and ends when its work returns: it scrolled away."
        #expect(text(row.explain()).hasSuffix("\n" + reason))
        #expect(text(page.explain()).hasSuffix("\n'page' → 'row': " + reason))
        proceed.send()
        await net.drain()
        #expect(text(row.explain()) == "'row' was cancelled: it scrolled away.")
    }

    @Test func explainsOtherKindsOfExecutingOperations() async {
        let net = queue("net")
        let proceed = AsyncStream<Void>.makeStream()
        let began = AsyncStream<Void>.makeStream()
        let asynchronous = TypedOperation<Void> {
            began.continuation.finish()
            for await _ in proceed.stream {}
        }
        asynchronous.name = "async"
        let own = StateKeepingOperation()
        own.name = "own"
        await net.addOperations([asynchronous, own], waitUntilFinished: false)
        for await _ in began.stream {}
        #expect(await comesTrue { own.stage == .executing })
        #expect(text(asynchronous.explain()) == "'async' is executing for T on queue 'net'.")
        #expect(text(own.explain()) == "'own' is executing for T on queue 'net'.")
        proceed.continuation.finish()
        own.stage = .finished
        await net.drain()
    }

    @Test func explainsExecutingOperationThatWaits() async {
        let (net, disk) = (queue("net"), queue("disk"))
        disk.isSuspended = true
        let store = named("store")
        disk.addOperation(store)
        let download = named("download") { store.waitUntilFinished() }
        net.addOperation(download)
        #expect(await comesTrue { !BlockedWait.targets(in: download).isEmpty })
        #expect(
            text(download.explain()) == """
                'download' is executing, and waits for 'store'.
                'download' → 'store': 'store' is ready, but queue 'disk' is suspended.
                """)
        disk.isSuspended = false
        await net.drain()
    }

    @Test func explainsSubclassThatHasNotReportedItsEnd() async {
        final class Unfinished: Operation, @unchecked Sendable {
            let over = Locked(false)
            override var isFinished: Bool { over.withLock { $0 } }
        }
        let operation = Unfinished()
        operation.name = "filter"
        operation.start()
        #expect(
            text(operation.explain()) == "'filter' goes on after its main() has returned: "
                + "its isFinished is overridden and returns false.")
        operation.over.withLock { $0 = true }
        #expect(
            text(operation.explain()) == "'filter' reports that it is finished, but never "
                + "announced it: call didChangeValue(forKey: \"isFinished\").")
        operation.didChangeValue(forKey: "isFinished")
        #expect(text(operation.explain()) == "'filter' has finished.")
    }

    /// The class announces nothing. Until its `start()` has returned, it has not had its chance.
    @Test func explainsSubclassThatNeverAnnouncesItsEnd() async {
        let net = queue("net", width: 1)
        let silent = SilentOperation { $0.name = "silent" }
        let behind = named("behind")
        await net.addOperations([silent, behind], waitUntilFinished: false)
        #expect(await silent.began.arrives())
        silent.isOver = true
        #expect(text(silent.explain()).hasPrefix("'silent' is executing"))
        silent.isOver = false
        silent.proceed.send()
        #expect(await comesTrue { silent.status.awaitsAnnouncement })
        silent.isOver = true
        let sentence =
            "'silent' reports that it is finished, but never announced it: call "
            + "didChangeValue(forKey: \"isFinished\")."
        #expect(text(silent.explain()) == sentence)
        #expect(
            text(behind.explain()) == """
                'behind' is ready, but the only slot of queue 'net' is taken by 'silent' (finished, \
                but not announced).
                'behind' → 'silent': \(sentence)
                """)
        silent.didChangeValue(forKey: "state")
        await net.drain()
    }

    @Test func explainsSilentOperationInNoQueue() async {
        let silent = SilentOperation { $0.name = "silent" }
        silent.proceed.send()
        silent.start()
        let behind = named("behind")
        behind.addDependency(silent)
        #expect(text(silent.explain()) == "'silent' is executing.")
        silent.isOver = true
        #expect(
            text(silent.explain()) == "'silent' reports that it is finished, but never "
                + "announced it: call didChangeValue(forKey: \"isFinished\").")
        queue("net").addOperation(behind)
        #expect(
            text(behind.explain()).hasPrefix(
                "'behind' waits for 'silent' (finished, but not announced).\n"
                    + "'behind' → 'silent': 'silent' reports that"))
        silent.didChangeValue(for: \.isFinished)
        await behind.finished()
    }

    // MARK: Waiting

    @Test func explainsExecutingDependency() async {
        let net = queue("net")
        await whileExecuting("download", in: net) { download in
            let resize = named("resize")
            resize.addDependency(download)
            net.addOperation(resize)
            #expect(
                text(resize.explain())
                    == "'resize' waits for 'download' (executing for T on queue 'net').")
        }
        await net.drain()
    }

    @Test func findsCauseAtEndOfLongChain() async {
        let net = queue("net")
        await whileExecuting("0", in: net) { first in
            var operations = [first]
            for index in 1...1_000 {
                let next = named("\(index)")
                if let last = operations.last { next.addDependency(last) }
                operations.append(next)
            }
            await net.addOperations(Array(operations.dropFirst()), waitUntilFinished: false)
            #expect(
                operations.last.map { text($0.explain()) } == """
                    '1000' waits for '999' (waiting).
                    '1000' → '999' → '998' → … 996 more … → '1' → '0': '0' is executing for T on \
                    queue 'net'.
                    """)
            #expect(
                text(operations[3].explain()) == """
                    '3' waits for '2' (waiting).
                    '3' → '2' → '1' → '0': '0' is executing for T on queue 'net'.
                    """)
        }
        await net.drain()
    }

    @Test func causesBeyondLimitAreCounted() {
        let all = named("all")
        for index in 0..<30 {
            let dependency = named("\(index)")
            dependency.cancel()
            all.addDependency(dependency)
        }
        let queue = queue("net")
        queue.addOperation(all)
        let explanation = all.explain()
        #expect(explanation.causes.count == 9)
        #expect(explanation.omittedCount == 22)
        let lines = text(explanation).split(separator: "\n")
        #expect(lines.count == 10)
        #expect(lines.first?.hasSuffix("and 26 more.") == true)
        #expect(lines.last == "… and 22 more.")
        all.cancel()
    }

    @Test func explainsCycle() {
        let (a, b, c) = (named("a"), named("b"), named("c"))
        a.addDependency(b)
        b.addDependency(c)
        c.addDependency(b)
        let queue = queue("net")
        for operation in [a, b, c] { queue.addOperation(operation) }
        #expect(
            text(a.explain()) == """
                'a' waits for 'b' (waiting).
                'a' → 'b': 'b' → 'c' → 'b' is a cycle: cancel one of these operations, or remove one of \
                their dependencies.
                """)
        b.cancel()
    }

    @Test func explainsIsReadyOverride() {
        final class NeverReady: Operation, @unchecked Sendable {
            override var isReady: Bool { false }
        }
        let operation = NeverReady()
        operation.name = "filter"
        queue("net").addOperation(operation)
        #expect(
            text(operation.explain())
                == "'filter' waits: its isReady is overridden and returns false.")
        operation.cancel()
    }

    // MARK: Ready

    @Test func explainsOperationInSuspendedQueue() {
        let net = queue("net")
        net.isSuspended = true
        let download = named("download")
        net.addOperation(download)
        #expect(text(download.explain()) == "'download' is ready, but queue 'net' is suspended.")
        download.cancel()
    }

    @Test func explainsOperationInQueueOfWidthZero() {
        let net = queue("net", width: 0)
        let download = named("download")
        net.addOperation(download)
        #expect(
            text(download.explain())
                == "'download' is ready, but maxConcurrentOperationCount of queue 'net' is 0.")
        download.cancel()
    }

    @Test func explainsTakenSlots() async {
        let net = queue("net", width: 2)
        await whileExecuting("a", in: net) { _ in
            await whileExecuting("b", in: net) { _ in
                let download = named("download")
                net.addOperation(download)
                #expect(
                    text(download.explain()) == """
                        'download' is ready, but 2 of 2 slots of queue 'net' are taken by \
                        'a' (executing for T on queue 'net'), 'b' (executing for T on queue 'net').
                        """)
            }
        }
        await net.drain()
    }

    @Test func explainsBarrier() async {
        let net = queue("net")
        await whileExecuting("before", in: net) { _ in
            let barrier = Barrier()
            let download = named("download")
            await net.addOperations([barrier, download], waitUntilFinished: false)
            #expect(
                text(download.explain())
                    == "'download' is ready, but a barrier of queue 'net' lets it "
                    + "start only after 'before'.")
        }
        await net.drain()
    }

    @Test func explainsBlocksThatHoldTheSlotAndStandBeforeABarrier() async {
        let net = queue("net", width: 1)
        let (begun, gate) = (Signal(), Signal())
        net.addOperation {
            begun.send()
            gate.wait()
        }
        #expect(await begun.arrives())
        net.addOperation {}
        let (download, late) = (named("download"), named("late"))
        net.addOperation(download)
        let taken =
            "'download' is ready, but the only slot of queue 'net' is taken by BlockOperation 0x"
        #expect(text(download.explain()).hasPrefix(taken))
        net.addOperation(Barrier())
        net.addOperation(late)
        let barrier = "a barrier of queue 'net' lets it start only after BlockOperation 0x"
        #expect(text(late.explain()).contains(barrier))
        gate.send()
        await net.drain()
    }

    @Test func explainsCancelledOperationAboutToLeave() async {
        let main = OperationQueue.main
        let operation = named("draw")
        await MainActor.run {
            // The main thread does not serve the main queue meanwhile.
            main.addOperation(operation)
            operation.cancel()
            #expect(
                text(operation.explain()) == "'draw' was cancelled and is about to leave "
                    + "queue 'NSOperationQueue Main Queue'.")
        }
        await operation.waitUntilFinished()
    }

    @Test func explainsReadyOperationThatNothingHoldsBack() async {
        let operation = named("draw")
        let net = queue("net")
        let serial = DispatchQueue(label: "serial")
        net.underlyingQueue = serial
        serial.suspend()
        net.addOperation(operation)
        let expected =
            "'draw' is ready, and starts as soon as dispatch queue 'serial', which runs queue 'net', "
            + "comes to it."
        #expect("\(operation.explain())" == expected)
        serial.resume()
        await operation.waitUntilFinished()
        let main = OperationExplanation.Cause(path: ["'a'"], reason: .waitingForMainThread)
        #expect("\(main)".contains("the main thread serves the main dispatch queue"))
        let ready = OperationExplanation.Cause(
            path: ["'a'"], reason: .ready(queue: "queue 'net'", othersReady: 0))
        let others = OperationExplanation.Cause(
            path: ["'a'"], reason: .ready(queue: "queue 'net'", othersReady: 3))
        #expect("\(ready)" == "'a' is ready, and starts as soon as a worker is free")
        #expect(
            "\(others)"
                == "'a' is ready, as are 3 others of queue 'net', and starts when its turn comes")
    }

    // MARK: Queues

    @Test func explainsEmptyQueue() {
        let net = queue("net")
        #expect(text(net.explain()) == "queue 'net' is empty.")
        net.isSuspended = true
        #expect(text(net.explain()) == "queue 'net' is suspended and empty.")
    }

    @Test func explainsBusyQueue() async {
        let net = queue("net", width: 1)
        await whileExecuting("download", in: net) { download in
            let (decode, store) = (named("decode"), named("store"))
            decode.addDependency(download)
            await net.addOperations([decode, store], waitUntilFinished: false)
            let explanation = net.explain()
            #expect(
                text(explanation) == """
                    queue 'net' holds 3 operations: 1 executing, 1 ready, 1 waiting.
                    'download' is executing for T on queue 'net'.
                    'store' is ready, but the only slot of queue 'net' is taken by 'download' \
                    (executing for T on queue 'net').
                    'decode' waits for 'download' (executing for T on queue 'net').
                    """)
            #expect(
                [explanation.executingCount, explanation.readyCount, explanation.waitingCount]
                    == [1, 1, 1])
        }
        await net.drain()
    }

    @Test func explainsSuspendedQueueWithOperations() async {
        let net = queue("net")
        net.isSuspended = true
        let download = named("download")
        net.addOperation(download)
        #expect(
            text(net.explain()) == """
                queue 'net' is suspended and holds 1 operation: 1 ready.
                'download' is ready, but queue 'net' is suspended.
                """)
        download.cancel()
        await net.drain()
    }

    /// An explanation of an unfinished operation always has a cause, whatever changes meanwhile.
    @Test func explainingIsSafeWhileOperationsRun() async {
        let net = queue("net", width: 2)
        let operations = (0..<2_000).map { named("\($0)") }
        for index in 2..<operations.count {
            operations[index].addDependency(operations[index - 1 - index % 2])
        }
        async let explained: Int = Task.detached {
            var count = 0
            while operations.contains(where: { !$0.isFinished }) {
                for operation in operations.suffix(3)
                where !operation.explain().causes.isEmpty { count += 1 }
                _ = net.explain().description
            }
            return count
        }.value
        for part in 0..<20 {
            await net.addOperations(
                Array(operations[part * 100..<part * 100 + 100]), waitUntilFinished: false)
        }
        await net.drain()
        #expect(await explained % 3 == 0)
    }

    /// The observer is called while the worker still holds the slot.
    @Test func slotThatNoOperationHoldsIsNotExplained() async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        let (first, second, texts) = (BlockOperation {}, BlockOperation {}, TestRecorder<String>())
        second.name = "second"
        let observation = first.observe(\.isFinished) { _, _ in
            texts.record(second.explain().description)
        }
        queue.addOperation(first)
        queue.addOperation(second)
        queue.isSuspended = false
        await queue.drain()
        observation.invalidate()
        #expect(texts.events == ["'second' is ready, and starts as soon as a worker is free."])
    }
}
