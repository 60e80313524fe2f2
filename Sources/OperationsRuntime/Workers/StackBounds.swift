#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// The location of a thread's stack. The stack grows towards the lowest address.
struct StackBounds {
    let lowest: UInt
    let size: UInt

    /// The address at which half of the stack is used.
    var middle: UInt { lowest + size / 2 }

    /// The bounds of the calling thread's stack; nil if the system does not provide them or if the
    /// caller runs on a stack other than the thread's.
    static var current: StackBounds? {
        #if canImport(Darwin)
        let thread = pthread_self()
        let size = UInt(pthread_get_stacksize_np(thread))
        let bounds = StackBounds(
            lowest: UInt(bitPattern: pthread_get_stackaddr_np(thread)) - size, size: size)
        #else
        var attributes = pthread_attr_t()
        guard attributesOfRunningThread(pthread_self(), &attributes) == 0 else { return nil }
        defer { pthread_attr_destroy(&attributes) }
        var address: UnsafeMutableRawPointer?
        var size = 0
        guard pthread_attr_getstack(&attributes, &address, &size) == 0 else { return nil }
        let bounds = StackBounds(lowest: UInt(bitPattern: address), size: UInt(size))
        #endif
        var here: UInt8 = 0
        let place = withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) }
        return place > bounds.lowest && place - bounds.lowest <= bounds.size ? bounds : nil
    }
}

#if !canImport(Darwin)
/// `pthread_getattr_np`, which exists in the C libraries but not in their Swift modules.
@_silgen_name("pthread_getattr_np")
private func attributesOfRunningThread(
    _ thread: pthread_t, _ attributes: UnsafeMutablePointer<pthread_attr_t>
) -> Int32
#endif
