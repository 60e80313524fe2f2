#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Memory that every operation may need. `UnsafeMutableRawPointer.allocate` also fulfils unusual
/// alignments, for which it takes about 90 instructions more each time (`posix_memalign`).
package enum Memory {
    /// The greatest alignment of what may be stored.
    package static var alignment: Int { 16 }

    /// Returns memory of a type whose alignment is at most ``alignment``.
    package static func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        guard let memory = malloc(byteCount) else { fatalError("Operations: out of memory") }
        return memory
    }

    /// Returns memory for so many values of a type whose alignment is at most ``alignment``.
    package static func allocate<Value: ~Copyable>(
        of type: Value.Type, count: Int
    ) -> UnsafeMutablePointer<Value> {
        allocate(byteCount: max(1, count) * MemoryLayout<Value>.stride)
            .bindMemory(to: type, capacity: count)
    }

    /// Deallocates memory that this type has allocated.
    package static func deallocate(_ memory: UnsafeMutableRawPointer) { free(memory) }
}
