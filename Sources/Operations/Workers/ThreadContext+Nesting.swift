extension ThreadContext {
    private static var mostNestedCalls: Int { 32 }

    /// Calls something that goes down a tree of the user's and comes back to here for each level, such as a
    /// cancellation.
    ///
    /// Some calls may be inside of each other. What would be further inside is called when the outermost
    /// call has returned, before this function returns to its caller: trees may be deeper than the stack.
    static func nesting(_ call: @escaping () -> Void) {
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
