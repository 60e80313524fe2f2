/// Writes what is built like TIFF: directories with their values, in either order of bytes.
public struct TIFFWriter {
    /// The value of an entry.
    public enum Value: Sendable {
        case short(Int)
        case long(Int)
        case text(String)
        /// Numbers of 16 bits, little-endian.
        case shorts([UInt8])
        /// Numerators and denominators.
        case fractions([(Int, Int)])
        /// Bytes of the type "undefined".
        case bytes([UInt8])
        /// Bytes elsewhere in the file, whose place is the value.
        case block([UInt8])
        /// Directories whose places are the values.
        case directories([Directory])
        /// Whatever a hostile file says: type, number of values, and the number in their place.
        case claim(type: Int, count: Int, place: Int)
    }

    /// Tags and values.
    public typealias Directory = [(tag: Int, value: Value)]

    /// The bytes written so far.
    public private(set) var bytes: [UInt8]
    private let isLittle: Bool
    /// The place from which offsets count.
    private let base: Int

    /// Begins with bytes, and counts offsets from a place in them.
    public init(after head: [UInt8], isLittle: Bool, offsetsFrom base: Int = 0) {
        (bytes, self.isLittle, self.base) = (head, isLittle, base)
    }

    /// A file with a chain of directories.
    ///
    /// - Parameter head: everything before the first directory; its bytes 4 to 7 get the place of
    ///   that directory.
    public static func file(head: [UInt8], isLittle: Bool, _ chain: [Directory]) -> [UInt8] {
        var writer = TIFFWriter(after: head, isLittle: isLittle)
        writer.put(writer.number(head.count, 4), at: 4)
        var pointer: Int?
        for directory in chain {
            if let pointer { writer.put(writer.number(writer.bytes.count, 4), at: pointer) }
            pointer = writer.append(directory)
        }
        return writer.bytes
    }

    /// Appends a directory, and after it its values.
    ///
    /// - Returns: the place of the number of the next directory, which is 0.
    @discardableResult
    public mutating func append(_ directory: Directory) -> Int {
        let place = bytes.count
        let pointer = place + 2 + 12 * directory.count
        bytes += [UInt8](repeating: 0, count: pointer + 4 - place)
        put(number(directory.count, 2), at: place)
        for (index, entry) in directory.sorted(by: { $0.tag < $1.tag }).enumerated() {
            let (type, count, values) = encode(entry.value)
            var field = number(entry.tag, 2) + number(type, 2) + number(count, 4)
            if values.count <= 4 {
                field += values + [UInt8](repeating: 0, count: 4 - values.count)
            } else {
                field += number(bytes.count - base, 4)
                bytes += values
            }
            put(field, at: place + 2 + 12 * index)
        }
        return pointer
    }

    private mutating func encode(_ value: Value) -> (type: Int, count: Int, values: [UInt8]) {
        switch value {
        case .short(let short): return (3, 1, number(short, 2))
        case .long(let long): return (4, 1, number(long, 4))
        case .shorts(let bytes): return (3, bytes.count / 2, bytes)
        case .text(let text): return (2, text.utf8.count + 1, Array(text.utf8) + [0])
        case .fractions(let fractions):
            return (
                5, fractions.count, fractions.flatMap { number($0.0, 4) + number($0.1, 4) }
            )
        case .bytes(let bytes): return (7, bytes.count, bytes)
        case .block(let block):
            let place = bytes.count
            bytes += block
            return (4, 1, number(place - base, 4))
        case .directories(let directories):
            let places = directories.map { directory in
                let place = bytes.count
                append(directory)
                return place - base
            }
            return (4, places.count, places.flatMap { number($0, 4) })
        case .claim(let type, let count, let place): return (type, count, number(place, 4))
        }
    }

    private func number(_ number: Int, _ length: Int) -> [UInt8] {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        return isLittle ? bytes : bytes.reversed()
    }

    private mutating func put(_ part: [UInt8], at place: Int) {
        bytes.replaceSubrange(place..<place + part.count, with: part)
    }
}
