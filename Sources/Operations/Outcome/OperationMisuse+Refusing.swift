// What happens to a call that is a mistake.

extension OperationMisuse {
    /// Stops the program, or reports the mistake for a caller that then does nothing else, as
    /// ``OperationsDiagnostics/mistakePolicy`` says.
    ///
    /// - Parameter operations: those that the caller was to add. Those that no queue has are ended.
    func refuse(adding operations: [Operation] = []) {
        guard OperationsDiagnostics.mistakePolicy == .report else { misuse(description) }
        OperationsDiagnostics.handler(.misuse(self))
        for operation in operations where operation.status.isUntouched {
            fail(operation)
            operation.start()
        }
    }

    /// As ``refuse(adding:)``, for a wait inside an operation, which fails and is cancelled.
    func refuse(waitInside operation: Operation?) {
        refuse()
        if let operation { fail(operation) }
    }

    /// Lets the operation fail because of the mistake, so that its scope and its dependents learn
    /// of it, and cancels it.
    private func fail(_ operation: Operation) {
        operation.fail(self)
        // The mistake was reported already.
        operation.failureRecord?.observe()
        operation.cancel(because: .misuse(self))
    }
}

extension LifecycleState {
    /// Whether the operation is in no queue, is on its way into none, and was not started.
    fileprivate var isUntouched: Bool { phase == .created && !has(.reserved) }
}
