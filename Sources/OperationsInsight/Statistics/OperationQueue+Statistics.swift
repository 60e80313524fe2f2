public import Operations

/// What a queue's operations did while the queue measured them; see
/// ``Operations/OperationQueue/measuresOperations``.
public struct OperationQueueStatistics: Sendable, Equatable {
    /// How many operations were added, including those in the queue when measuring began.
    public internal(set) var addedCount = 0
    /// How many operations finished without an error or a cancellation.
    public internal(set) var finishedCount = 0
    /// How many operations had been cancelled when they ended, whether or not they had begun.
    public internal(set) var cancelledCount = 0
    /// How many operations threw an error.
    public internal(set) var failedCount = 0
    /// How long operations were ready before they began.
    public internal(set) var waitingTime = DurationHistogram()
    /// How long operations ran: from the beginning of the body to its end, including waits inside
    /// of the body. An asynchronous body counts until it has ended.
    public internal(set) var runningTime = DurationHistogram()

    /// Makes empty statistics.
    public init() {}

    /// How many operations have ended, in any way.
    public var endedCount: Int { finishedCount + cancelledCount + failedCount }

    /// Adds the statistics of another queue, or of the same queue at another time.
    public mutating func merge(_ other: OperationQueueStatistics) {
        addedCount += other.addedCount
        finishedCount += other.finishedCount
        cancelledCount += other.cancelledCount
        failedCount += other.failedCount
        waitingTime.merge(other.waitingTime)
        runningTime.merge(other.runningTime)
    }
}

extension OperationQueue {
    /// Whether the queue counts its operations and measures how long they wait and run; false by
    /// default.
    ///
    /// Changing the value to true begins a new measurement and discards the previous one. Measuring
    /// costs 0.1 to 0.2 µs for each operation (W13 of the benchmarks), and a block that
    /// `addOperation` adds becomes an operation. Operations that run when measuring begins are not
    /// measured.
    public final var measuresOperations: Bool {
        get { existingObserver(OperationMeter.self)?.isOn ?? false }
        set {
            if newValue {
                let meter = observer { OperationMeter() }
                let totals = totals
                if meter.begin(additions: totals.added - totals.unfinished) {
                    beginEvents(for: .statistics)
                }
            } else if let meter = existingObserver(OperationMeter.self) {
                endEvents(for: .statistics)
                meter.end(additions: totals.added)
            }
        }
    }

    /// What was counted and measured while ``measuresOperations`` was true; empty if it never was.
    ///
    /// The value is a snapshot of counters that threads keep changing: the counters need not all be
    /// of the same moment.
    public final var statistics: OperationQueueStatistics {
        existingObserver(OperationMeter.self)?.statistics(additions: totals.added)
            ?? OperationQueueStatistics()
    }
}

extension OperationQueueStatistics: CustomStringConvertible {
    /// The counts in one line, and a small table of the times.
    public var description: String {
        let counts =
            "\(addedCount) added, \(finishedCount) finished, \(cancelledCount) cancelled, "
            + "\(failedCount) failed"
        let rows = [
            [""] + DurationHistogram.columns, ["waiting"] + waitingTime.cells,
            ["running"] + runningTime.cells,
        ]
        let widths = rows[0].indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        let lines = rows.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + space : space + cell.0
            }
            .joined(separator: "  ")
        }
        return ([counts] + lines).joined(separator: "\n")
    }
}
