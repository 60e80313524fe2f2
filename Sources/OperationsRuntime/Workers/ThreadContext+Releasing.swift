/// Releases the contents of the library's objects without recursion, however long a chain of
/// references is.
///
/// The contents of an object may include the last reference to another object, which holds the last
/// reference to a third object, and so on: the body of an operation may have captured the previous
/// operation. When the compiler releases such a chain, each link takes some stack. So every
/// `deinit` of the library that may release another of the library's objects does so in one of
/// these functions. The first few nested releases happen at once. Beyond that depth the functions
/// move the contents to a list of the thread, and the outermost call releases the list.
///
/// The stored properties of a subclass are released by the compiler after the `deinit` of the
/// superclass, outside any function of the library. The library can break such a chain only if each
/// operation also depends on the next one. In that case, near the end of the stack, a worker
/// receives the reference that the dependency list holds, and keeps the next operation alive for a
/// moment.
extension ThreadContext {
    /// The most nested releases.
    @inlinable static var mostNestedReleases: Int { 32 }

    /// Releases the contents of an object in a `deinit`, at once or later.
    ///
    /// - Parameters:
    ///   - release: Releases the contents.
    ///   - contents: Returns the same contents as a value, which is kept until it is to be
    ///     released.
    @inlinable
    @inline(__always)
    package static func releasing(_ release: () -> Void, later contents: () -> Any) {
        withCurrent { context in
            guard context.nestedReleases < mostNestedReleases else {
                return context.laterReleases.append(contents())
            }
            context.nestedReleases += 1
            release()
            context.endRelease()
        }
    }

    /// Releases operations, one after the other.
    @inlinable
    @inline(__always)
    package static func release<Object: AnyObject & Sendable>(_ references: ReferenceList<Object>) {
        if !references.isEmpty { releaseAll(references) }
    }

    @inline(never)
    @inlinable
    static func releaseAll<Object: AnyObject & Sendable>(
        _ references: ReferenceList<Object>
    ) {
        withCurrent { context in
            // (Skipping operations that seem to have another reference would be wrong: at this very
            // moment that reference may be released, or a weak reference may be upgraded.)
            if context.nestedReleases == 0, context.isStackShort {
                return submit { releaseAll(references) }
            }
            // A nested call moves everything to the list. A subclass releases its stored properties
            // after this function has returned, at the same depth, so 32 levels would have no end.
            guard context.nestedReleases == 0 else {
                references.forEach { context.laterReleases.append($0.takeRetainedValue()) }
                return
            }
            context.nestedReleases = 1
            references.forEach { $0.release() }
            context.endRelease()
        }
    }

    @inlinable
    @inline(__always)
    func endRelease() {
        nestedReleases -= 1
        if nestedReleases == 0, !laterReleases.isEmpty { releaseLater() }
    }

    /// Releases the contents of the list, including contents that are added meanwhile. No other
    /// release of this thread is in progress.
    @inline(never)
    @usableFromInline
    func releaseLater() {
        nestedReleases = 1
        while !laterReleases.isEmpty { withExtendedLifetime(laterReleases.removeLast()) {} }
        nestedReleases = 0
    }

    @usableFromInline
    static func submit(_ block: @escaping @Sendable () -> Void) {
        WorkerPool.submit(.block(block))
    }

    /// Whether less than half of the thread's stack is left.
    @usableFromInline
    var isStackShort: Bool {
        if stackMiddle == nil { stackMiddle = StackBounds.current?.middle ?? 0 }
        var here: UInt8 = 0
        let address = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
        return address < stackMiddle ?? 0
    }
}
