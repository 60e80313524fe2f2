extension OperationQueue {
    /// Returns the unfinished operation to use in place of `operation`, if that has a key to join
    /// by.
    ///
    /// - Parameter isAdded: whether later operations join `operation` from now on, if there is none
    ///   to join.
    @inline(__always)
    final func joined<Output>(
        by operation: TypedOperation<Output>, isAdded: Bool = true
    ) -> TypedOperation<Output>? {
        guard let key = operation.attemptController?.plan.joinedKey,
            let other = isAdded ? keys.join(key, with: operation) : keys.joinable(key)
        else { return nil }
        guard let joined = other as? TypedOperation<Output> else {
            OperationMisuse.joining(
                other.label, of: type(of: other), with: key, in: label, by: type(of: operation)
            ).refuse()
            // The operation is added, and cancelled as a duplicate.
            return nil
        }
        return joined
    }
}
