import OperationsRuntime

/// The result of an operation, in memory of its own. The owner calls ``remove()`` or ``take()`` in
/// the end.
///
/// A property of the type `Output?` would take longer: generic code looks up the metadata of that
/// type at each access. For the same reason the pointer has no type, and the methods are inlined:
/// nothing then needs the metadata of `StoredOutput<Output>`.
struct StoredOutput<Output> {
    private var memory: UnsafeMutableRawPointer?

    /// Whether values have no bytes, as `Void` has none; then no memory is allocated.
    @inline(__always)
    private static var isEmpty: Bool { MemoryLayout<Output>.size == 0 }

    @inline(__always)
    private static func allocate() -> UnsafeMutableRawPointer {
        if isEmpty {
            return UnsafeMutableRawPointer(bitPattern: MemoryLayout<Output>.alignment)
                .unsafelyUnwrapped
        }
        let size = MemoryLayout<Output>.size
        if MemoryLayout<Output>.alignment <= Memory.alignment {
            return Memory.allocate(byteCount: size)
        }
        return .allocate(byteCount: size, alignment: MemoryLayout<Output>.alignment)
    }

    @inline(__always)
    private static func deallocate(_ memory: UnsafeMutableRawPointer) {
        if isEmpty { return }
        if MemoryLayout<Output>.alignment <= Memory.alignment {
            Memory.deallocate(memory)
        } else {
            memory.deallocate()
        }
    }

    var value: Output? {
        @inline(__always) get { memory?.assumingMemoryBound(to: Output.self).pointee }
    }

    @inline(__always)
    mutating func set(_ value: consuming Output) {
        remove()
        let new = Self.allocate()
        new.initializeMemory(as: Output.self, to: value)
        memory = new
    }

    @inline(__always)
    mutating func remove() {
        guard let memory else { return }
        self.memory = nil
        memory.assumingMemoryBound(to: Output.self).deinitialize(count: 1)
        Self.deallocate(memory)
    }

    @inline(__always)
    mutating func take() -> Output? {
        guard let memory else { return nil }
        self.memory = nil
        let value = memory.assumingMemoryBound(to: Output.self).move()
        Self.deallocate(memory)
        return value
    }
}
