/// What a queue's operations did while it measured them; see ``OperationQueue/measuresOperations``.
public struct OperationQueueStatistics: Sendable, Equatable {
    /// How many were added; those that were in the queue when measuring began are among them.
    public internal(set) var addedCount = 0
    /// How many ended as they were meant to.
    public internal(set) var finishedCount = 0
    /// How many had been cancelled when they ended, whether they had begun or not.
    public internal(set) var cancelledCount = 0
    /// How many threw an error.
    public internal(set) var failedCount = 0
    /// How long operations were ready before they began.
    public internal(set) var waitingTime = DurationHistogram()
    /// How long they ran: from when their work began until it ended, the waits inside of it included. For
    /// asynchronous work, until its end.
    public internal(set) var runningTime = DurationHistogram()

    /// Nothing counted.
    public init() {}

    /// How many have ended, in one way or another.
    public var endedCount: Int { finishedCount + cancelledCount + failedCount }

    /// Adds what another queue did, or the same one at another time.
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
    /// Whether the queue counts its operations and measures how long they wait and run; false unless set.
    ///
    /// Setting it to true begins anew: what was measured before is forgotten. It costs less than a tenth of a
    /// microsecond for each operation. What runs at that moment is not measured.
    public final var measuresOperations: Bool {
        get { existingInsight?.meter.isOn ?? false }
        set {
            if newValue {
                let additions = snapshot { $0.additionCount - $0.operationCount }
                if ownInsight.meter.begin(additions: additions) { beginWatching(.meter) }
            } else if let existingInsight {
                end(.meter)
                existingInsight.meter.end(additions: snapshot { $0.additionCount })
            }
        }
    }

    /// What was counted and measured while ``measuresOperations`` was set; nothing if it never was.
    ///
    /// A snapshot of counters that threads go on counting: they need not all be of the same moment.
    public final var statistics: OperationQueueStatistics {
        existingInsight?.meter.statistics(additions: snapshot { $0.additionCount })
            ?? OperationQueueStatistics()
    }
}

extension QueueState {
    /// How many operations, barriers not counted, the queue has seen.
    var additionCount: Int { ring.tail - barriersAdded }

    /// How many of them have finished.
    var finishedCount: Int { additionCount - operationCount }
}

extension OperationQueueStatistics: CustomStringConvertible {
    /// The counts in a line, and a small table of the times.
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
