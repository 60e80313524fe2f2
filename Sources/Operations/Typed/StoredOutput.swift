/// The result of an operation, in memory of its own. The owner calls ``remove()`` or ``take()`` in
/// the end.
///
/// A property of the type `Output?` would take longer: generic code looks up the metadata of that
/// type at each access.
struct StoredOutput<Output> {
    private var memory: UnsafeMutablePointer<Output>?

    /// Whether values have no bytes, as `Void` has none; then no memory is allocated.
    private static var isEmpty: Bool { MemoryLayout<Output>.size == 0 }

    private static var noBytes: UnsafeMutablePointer<Output> {
        let address = UnsafeMutablePointer<Output>(bitPattern: MemoryLayout<Output>.alignment)
        return address.unsafelyUnwrapped
    }

    var value: Output? { memory?.pointee }

    mutating func set(_ value: consuming Output) {
        remove()
        let memory = Self.isEmpty ? Self.noBytes : .allocate(capacity: 1)
        memory.initialize(to: value)
        self.memory = memory
    }

    mutating func remove() {
        guard let memory else { return }
        self.memory = nil
        memory.deinitialize(count: 1)
        if !Self.isEmpty { memory.deallocate() }
    }

    mutating func take() -> Output? {
        guard let memory else { return nil }
        self.memory = nil
        let value = memory.move()
        if !Self.isEmpty { memory.deallocate() }
        return value
    }
}
