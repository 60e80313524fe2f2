/// Finds out whether a class replaces `Operation.start()`.
///
/// A cancelled operation of such a class runs code of its own when it is started; a cancelled
/// operation of any other class only ends. The language does not reveal which methods a class
/// overrides. But the metadata of a class begins with that of its superclass, in which an
/// overridden method has another address. Two classes that differ only in `start()` show where its
/// address is.
enum StartOverride {
    private final class Without: Operation, @unchecked Sendable {}
    private final class With: Operation, @unchecked Sendable { override func start() {} }

    /// The number of the word for `start()` in the metadata of each subclass of `Operation`; nil if
    /// it cannot be found.
    private static let place: Int? = {
        let (base, without, with) = (
            words(of: Operation.self), words(of: Without.self), words(of: With.self)
        )
        let places = (0..<wordCount(of: base)).filter {
            base[$0] == without[$0] && base[$0] != with[$0]
        }
        return places.count == 1 ? places[0] : nil
    }()

    /// Whether the class replaces `start()`; true if that cannot be determined.
    static func isPresent(in type: Operation.Type) -> Bool {
        guard let place else { return true }
        return words(of: type)[place] != words(of: Operation.self)[place]
    }

    private static func words(of type: Operation.Type) -> UnsafePointer<UInt> {
        unsafeBitCast(type, to: UnsafePointer<UInt>.self)
    }

    /// Returns the number of words in the metadata of a class without generic parameters.
    private static func wordCount(of metadata: UnsafePointer<UInt>) -> Int {
        // The header holds the kind and the superclass, and three words for Objective-C where that
        // exists. The flags, the address point of an instance and the sizes of instances follow,
        // all in half words.
        #if canImport(ObjectiveC)
        let header = 5
        #else
        let header = 2
        #endif
        // The size of the metadata, and the address point within it.
        let sizes = UnsafeRawPointer(metadata + header + 2)
        let size = sizes.load(as: UInt32.self)
        let address = sizes.load(fromByteOffset: 4, as: UInt32.self)
        return (Int(size) - Int(address)) / MemoryLayout<UInt>.size
    }
}

extension Operation {
    /// Whether the operation, which is cancelled, runs code of a subclass when it is started. If
    /// so, it needs a slot, and waits for barriers and for the resumption of its queue, like every
    /// operation that runs.
    final func needsSlotToLeave(_ state: LifecycleState) -> Bool {
        !state.has(.fastPath) && replacesStart
    }
}
