import OperationsRuntime

extension Progress {
    /// The fractions completed, from the present one on, as they change.
    ///
    /// A reader that is slower than the changes gets the latest value and not those in between. The
    /// sequence ends when the progress is found finished or cancelled, after the value it has then,
    /// and when the reading task is cancelled. Each loop over the sequence reads for itself. The
    /// sequence keeps the progress.
    public var fractions: ObservedSequence<Double> {
        ObservedSequence<Double> {
            var last: Double?
            var hasEnded = false
            return {
                while !hasEnded, !Task.isCancelled {
                    let (version, fraction, isOver) = self.state.withLock {
                        ($0.version, $0.fraction, $0.isFinished || $0.isCancelled)
                    }
                    hasEnded = isOver
                    if fraction != last {
                        last = fraction
                        return fraction
                    }
                    if !isOver { await self.change(after: version) }
                }
                return nil
            }
        }
    }

    /// Returns when something has changed since `version`, or the task is cancelled.
    nonisolated(nonsending) func change(after version: UInt64) async {
        await TimedWait.untilCancelled { wait in
            state.withLock { $0.waiterArrived(wait, after: version) }
        } leave: { wait in
            state.withLock { $0.waiterLeft(wait) }
        }
    }
}
