import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Queues that signals shut down, in processes of their own.
@Suite(.timeLimit(.minutes(5)))
struct SignalShutDownTests {
    @Test func theFirstSignalGivesAGracePeriodAndTheSecondEndsIt() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            let queue = OperationQueue(name: "pictures")
            let (began, mayEnd) = (Signal(), AsyncGate())
            let runs = queue.add { () async throws in
                began.send()
                try await mayEnd.wait()
            }
            let stuck = queue.add { () async throws in
                began.send()
                try await untilCancelled()
            }
            queue.shutDown(on: .sigint, .sigterm, grace: .seconds(3_600))
            began.wait()
            began.wait()
            kill(getpid(), SIGTERM)
            #expect(await comesTrue { queue.isShutDown })
            mayEnd.open()
            await runs.finished()
            precondition(!runs.isCancelled && !stuck.isCancelled)
            kill(getpid(), SIGINT)
            await queue.finished()
            precondition(stuck.isCancelled)
        }
    }

    /// A body that ignores its cancellation does not make the signal useless.
    @Test func theThirdSignalHasItsDefaultEffect() async {
        await #expect(processExitsWith: .signal(SIGINT)) {
            endSoon(EXIT_FAILURE)
            let queue = OperationQueue(name: "deaf")
            let (began, never) = (Signal(), Signal())
            let deaf = queue.add("deaf") {
                began.send()
                never.wait()
            }
            queue.shutDown(on: .sigint, grace: .seconds(3_600))
            began.wait()
            kill(getpid(), SIGINT)
            #expect(await comesTrue { queue.isShutDown })
            kill(getpid(), SIGINT)
            #expect(await comesTrue { deaf.isCancelled })
            kill(getpid(), SIGINT)
            await queue.finished()
        }
    }

    /// Who has sent the signal learns what keeps the process.
    @Test func whatDoesNotHeedItsCancellationIsNamed() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            let queue = OperationQueue(name: "deaf")
            let (began, reported, mayEnd) = (Signal(), Signal(), Signal())
            let found = TestRecorder<String>()
            OperationsDiagnostics.handler = { finding in
                found.record("\(finding)")
                reported.send()
            }
            queue.add("reads") {
                began.send()
                mayEnd.wait()
            }
            queue.shutDown(on: .sigterm, grace: .milliseconds(1))
            began.wait()
            kill(getpid(), SIGTERM)
            reported.wait()
            #expect(
                found.events.first?.hasPrefix(
                    "queue 'deaf' was shut down, and does not end, because 'reads' has not heeded")
                    == true)
            mayEnd.send()
            await queue.finished()
        }
    }

    @Test func aSignalAfterTheEndOfTheQueueHasItsDefaultEffect() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            endSoon(EXIT_FAILURE)
            let queue = OperationQueue(name: "done")
            queue.shutDown(on: .sigterm)
            kill(getpid(), SIGTERM)
            #expect(await comesTrue { queue.isShutDown })
            await queue.finished()
            kill(getpid(), SIGTERM)
            Signal().wait()
        }
    }

    @Test func theSignalHasItsEffectAgainAfterTheEnd() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            endSoon(EXIT_FAILURE)
            let (first, second) = (OperationQueue(), OperationQueue())
            let signals = [first.shutDown(on: .sigterm), second.shutDown(on: .sigterm, .sigint)]
            signals[0].end()
            kill(getpid(), SIGTERM)
            #expect(await comesTrue { second.isShutDown })
            precondition(!first.isShutDown)
            signals[1].end()
            kill(getpid(), SIGTERM)
            Signal().wait()
        }
    }

    /// All threads of Swift's own pool are blocked, and so are those of the main executor.
    @Test func signalsArriveWhileTasksBlockAllThreads() async {
        await #expect(processExitsWith: .success) {
            endSoon(EXIT_FAILURE)
            let queue = OperationQueue(name: "stopped")
            let (began, never, ended) = (Signal(), Signal(), Signal())
            let stuck = queue.add { () async throws in
                began.send()
                try await untilCancelled()
            }
            queue.shutDown(on: .sigterm, grace: .milliseconds(1))
            stuck.completionBlock = { ended.send() }
            began.wait()
            let blocked = Tally()
            for _ in 0..<64 {
                Task.detached {
                    blocked.increment()
                    never.wait()
                }
            }
            startTestThread {
                kill(getpid(), SIGTERM)
                exit(ended.wait() ? EXIT_SUCCESS : EXIT_FAILURE)
            }
            never.wait()
        }
    }
}
