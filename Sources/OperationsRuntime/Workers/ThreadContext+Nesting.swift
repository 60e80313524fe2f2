extension ThreadContext {
    private static var mostNestedCalls: Int { 32 }

    /// Calls a function that descends a tree of the user's objects and returns here for each level,
    /// such as a cancellation.
    ///
    /// A limited number of calls may be nested. A call beyond that depth is deferred until the
    /// outermost call has returned, and made before this function returns to the caller of the
    /// outermost call: trees may be deeper than the stack.
    package static func nesting(_ call: @escaping () -> Void) {
        let context = current
        guard context.nestedCalls < mostNestedCalls else {
            return context.laterCalls.append(call)
        }
        context.nestedCalls += 1
        call()
        if context.nestedCalls == 1 {
            while let next = context.laterCalls.popFirst() { next() }
        }
        context.nestedCalls -= 1
    }
}
