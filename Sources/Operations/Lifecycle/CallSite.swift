/// A place in a program's code, in one word: the address of the file's name, and above it the line.
///
/// Operations without a name are called by the place that made them. To keep the place costs one
/// store, and no memory of its own: the name is a constant of the program.
@usableFromInline
struct CallSite: Sendable {
    /// 0 for no place.
    @usableFromInline
    let bits: UInt64

    @inlinable
    init(bits: UInt64 = 0) { self.bits = bits }

    /// - Parameter file: what `#fileID` or `#file` says.
    @inlinable
    init(_ file: StaticString, _ line: UInt) {
        var bits: UInt64 = 0
        if file.hasPointerRepresentation, line < 1 << 16 {
            let address = UInt64(UInt(bitPattern: file.utf8Start))
            // No system gives programs addresses of more bits.
            if address < 1 << 48 { bits = address | UInt64(line) << 48 }
        }
        self.init(bits: bits)
    }

    /// The place as messages name it, such as `main.swift:12`; nil for no place.
    var text: String? {
        guard bits != 0,
            let name = UnsafePointer<CChar>(bitPattern: UInt(bits & (1 << 48 - 1)))
        else { return nil }
        let path = String(cString: name)
        let file = path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
        return "\(file):\(bits >> 48)"
    }
}

/// An operation that may know the place in the program's code that made it.
protocol PlacedOperation: Operation {
    var site: CallSite { get }
}
