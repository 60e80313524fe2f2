/// How objects of the library release what they hold: not by recursion, however long the chain is.
///
/// What an object holds may be the last reference to another object, which holds the last reference to a third,
/// and so on: an operation's body may have captured the operation before it. Released by the compiler, each link
/// of such a chain takes some stack. So every `deinit` of the library that may release another of its objects
/// does so in one of these functions. The first few that are inside of each other release at once. Beyond that
/// depth they move what they hold to a list of the thread's, and the outermost one releases that.
///
/// What a subclass stores itself is released by the compiler after the `deinit` of its superclass, in no function
/// of the library. Such a chain can only be cut if each operation also depends on the next: near the end of
/// the stack a worker is given the reference that the dependency has, and keeps the next operation for a moment.
extension ThreadContext {
    /// So many may be inside of each other.
    private static var mostNestedReleases: Int { 32 }

    /// Releases something in a `deinit`, at once or later.
    ///
    /// - Parameters:
    ///   - release: releases it.
    ///   - contents: the same as a value, which is kept until it is to be released.
    @inline(__always)
    static func releasing(_ release: () -> Void, later contents: () -> Any) {
        withCurrent { context in
            guard context.nestedReleases < mostNestedReleases else {
                return context.laterReleases.append(contents())
            }
            context.nestedReleases += 1
            release()
            context.endRelease()
        }
    }

    /// Releases operations, of which there is at least one.
    static func release(_ first: Unmanaged<Operation>, and rest: [Unmanaged<Operation>]) {
        withCurrent { context in
            // (To leave out those that seem to have another reference would be wrong: that one may go, or a weak
            // one may come to life, at this moment.)
            if context.nestedReleases == 0, context.isStackShort {
                WorkerPool.shared.submit(.block { release(first, and: rest) })
                return
            }
            guard context.nestedReleases < mostNestedReleases else {
                context.laterReleases.append(first.takeRetainedValue())
                for operation in rest {
                    context.laterReleases.append(operation.takeRetainedValue())
                }
                return
            }
            context.nestedReleases += 1
            first.release()
            for operation in rest { operation.release() }
            context.endRelease()
        }
    }

    @inline(__always)
    private func endRelease() {
        nestedReleases -= 1
        if nestedReleases == 0, !laterReleases.isEmpty { releaseLater() }
    }

    /// Releases what was moved to the list, and what comes to the list by that. No other release of this thread is
    /// under way.
    @inline(never)
    private func releaseLater() {
        nestedReleases = 1
        while !laterReleases.isEmpty { withExtendedLifetime(laterReleases.removeLast()) {} }
        nestedReleases = 0
    }

    /// Whether less than half of the thread's stack is left.
    private var isStackShort: Bool {
        if stackMiddle == nil { stackMiddle = StackBounds.current?.middle ?? 0 }
        var here: UInt8 = 0
        let address = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
        return address < stackMiddle ?? 0
    }
}
