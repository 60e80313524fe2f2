package import Operations
import OperationsRuntime

/// The circles of operations that were reported in this process. The whole process has one handler
/// of reports, so a test that records them runs in a process of its own.
package final class CircleReports: Sendable {
    package struct Report: Equatable, Sendable {
        package let names: [String]
        /// Nil for a cycle of dependencies.
        package let reasons: String?
    }

    private let reports = Locked<[Report]>([])

    /// Records reports from now on, and ends the process if the test takes too long.
    package init() {
        endSoon(1)
        OperationsDiagnostics.handler = { [self] finding in
            switch finding {
            case .dependencyCycle(let names):
                reports.withLock { $0.append(Report(names: names, reasons: nil)) }
            case .circularWait(let names, let reasons):
                reports.withLock { $0.append(Report(names: names, reasons: reasons)) }
            default: break
            }
        }
    }

    package var all: [Report] { reports.withLock { $0 } }
    /// The names of the operations of each reported circle.
    package var names: [[String]] { all.map(\.names) }

    /// Closes a cycle in a queue, and waits for its report: after that, the watch has looked at
    /// everything that was there before. Returns whether the report came.
    package func look(_ name: String = "look") async -> Bool {
        let queue = OperationQueue()
        let cycle = Self.cycle(name, "\(name) too")
        await queue.addOperations(cycle, waitUntilFinished: false)
        let isReported = await comesTrue { names.contains { $0.contains("'\(name)'") } }
        cycle[0].cancel()
        await queue.drain()
        return isReported
    }

    /// Returns two operations that wait for each other.
    package static func cycle(_ first: String, _ second: String) -> [Operation] {
        let (a, b) = (named(first), named(second))
        a.addDependency(b)
        b.addDependency(a)
        return [a, b]
    }
}
