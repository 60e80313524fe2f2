import Testing

@testable import Operations

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// The memory of one operation.
///
/// The allocator of glibc keeps freed blocks of up to 120 bytes in lists that need no lock. To free
/// a larger block takes the lock of the arena, for which a worker and the thread that makes the
/// operations compete: with operations of 192 bytes, both together took 1.5 times as long.
struct OperationSizeTests {
    @Test func operationsFitIntoSmallBlocks() throws {
        let operations: [Operation] = [
            Operation(), BlockOperation {}, TypedOperation { 1 }, TypedOperation { "text" },
            TypedOperation { () async in 1 },
        ]
        // The function is not part of the modules of libc.
        guard let address = dlsym(nil, "malloc_usable_size") else { return }
        typealias UsableSize = @convention(c) (UnsafeRawPointer) -> Int
        let usableSize = unsafeBitCast(address, to: UsableSize.self)
        for operation in operations {
            let size = usableSize(Unmanaged.passUnretained(operation).toOpaque())
            #expect(size <= 120, "\(type(of: operation))")
        }
    }
}
