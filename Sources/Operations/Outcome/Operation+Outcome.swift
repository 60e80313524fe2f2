// How the core ends an operation without success: with an error, or cancelled for a reason.

extension Operation {
    /// The failure of the operation. Reading this property does not observe the failure.
    final var failureRecord: FailureRecord? {
        existingExtras == nil ? nil : withExtras { $0.failure }
    }

    /// The failure with which the operation has ended: its own, or the one that it was cancelled
    /// for. An error that came after a cancellation is neither. Reading this property does not
    /// observe the failure.
    final var endingFailure: FailureRecord? {
        switch status.outcome {
        case .failed: failureRecord
        case .failedUpstream: existingExtras == nil ? nil : withExtras { $0.upstreamFailure }
        case .succeeded, .cancelled: nil
        }
    }

    final func forceCancel(because reason: CancellationReason, failure: FailureRecord? = nil) {
        note(reason, failure)
        forceCancel()
    }

    /// Records why the operation is about to be cancelled; the first reason counts.
    final func note(_ reason: CancellationReason, _ failure: FailureRecord? = nil) {
        if case .requested = reason { return }
        withExtras { extras in
            guard !status.has(.cancelled), extras.cancellationReason == nil else { return }
            // Dependents go by the state, and people by the reason, so both change together.
            if failure != nil, exchange({ $0.failedUpstream() }) == nil { return }
            extras.cancellationReason = reason
            extras.upstreamFailure = failure
        }
    }

    final func callCancelHandlers() {
        let handlers = withExtras { extras in
            defer {
                // The operation may be cancelled in a later attempt.
                extras.cancelHandlers =
                    status.has(.cancelled)
                    ? [] : extras.cancelHandlers.filter { !$0.isOfAttempt }
            }
            return extras.cancelHandlers
        }
        for handler in handlers { handler.call() }
    }
}
