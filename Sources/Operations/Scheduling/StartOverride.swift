/// Finds out whether a class replaces `Operation.start()`.
///
/// A cancelled operation of such a class runs code of its own when it is started; a cancelled
/// operation of any other class only ends. The language does not reveal which methods a class
/// overrides. But the metadata of a class begins with that of its superclass, in which an
/// overridden method has another address. Two classes that differ only in `start()` show where its
/// address is.
struct StartOverride: Sendable {
    /// The words of the metadata of the base class.
    private let base: [UInt]
    /// The number of the word for `start()` in the metadata of each subclass of the base class; nil
    /// if it cannot be found.
    private let place: Int?

    /// - Parameters:
    ///   - base: a class with a method `start()`, without a generic parameter.
    ///   - without: a direct subclass that overrides nothing.
    ///   - with: a direct subclass that overrides only `start()`.
    init(of base: AnyClass, without: AnyClass, with: AnyClass) {
        let (words, without, with) = (
            Self.words(of: base), Self.words(of: without), Self.words(of: with)
        )
        let count = Self.wordCount(of: words)
        let places = (0..<count).filter { words[$0] == without[$0] && words[$0] != with[$0] }
        self.base = (0..<count).map { words[$0] }
        place = places.count == 1 ? places[0] : nil
    }

    /// Whether a subclass replaces `start()`; true if that cannot be determined.
    func isPresent(in type: AnyClass) -> Bool {
        guard let place else { return true }
        return Self.words(of: type)[place] != base[place]
    }

    private static func words(of type: AnyClass) -> UnsafePointer<UInt> {
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
