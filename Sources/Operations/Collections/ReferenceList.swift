/// A list of references. The first eight need no memory of their own, so that a thread that holds a
/// lock can collect what it has to do after the release of the lock without allocating.
struct ReferenceList<Object: AnyObject & Sendable>: Sendable {
    private typealias Place = Unmanaged<Object>?

    private static var firstCapacity: Int { 8 }

    private var first: (Place, Place, Place, Place, Place, Place, Place, Place) =
        (nil, nil, nil, nil, nil, nil, nil, nil)
    /// Made for the ninth. Few lists are so long, and nil costs less to release than an empty array.
    private var rest: [Unmanaged<Object>]?
    private(set) var count = 0

    var isEmpty: Bool {
        @inline(__always) get { count == 0 }
    }

    @inline(__always)
    mutating func append(_ reference: Unmanaged<Object>) {
        if count < Self.firstCapacity {
            withUnsafeMutableBytes(of: &first) {
                $0.storeBytes(
                    of: reference, toByteOffset: count * MemoryLayout<Place>.stride,
                    as: Unmanaged<Object>.self)
            }
        } else {
            appendToRest(reference)
        }
        count += 1
    }

    @inline(never)
    private mutating func appendToRest(_ reference: Unmanaged<Object>) {
        rest = rest ?? []
        rest?.append(reference)
    }

    /// Calls `body` with each reference, in the order in which they were appended.
    @inline(__always)
    func forEach(_ body: (Unmanaged<Object>) -> Void) {
        withUnsafeBytes(of: first) { places in
            for index in 0..<min(count, Self.firstCapacity) {
                body(
                    places.load(
                        fromByteOffset: index * MemoryLayout<Place>.stride,
                        as: Unmanaged<Object>.self))
            }
        }
        rest?.forEach(body)
    }

    /// The references in the order in which they were appended.
    var array: [Unmanaged<Object>] {
        var all: [Unmanaged<Object>] = []
        all.reserveCapacity(count)
        forEach { all.append($0) }
        return all
    }
}
