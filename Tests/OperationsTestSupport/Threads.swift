#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// Runs blocking code on its own thread, which is neither the main thread nor a thread of tasks.
///
/// - Parameter stackSize: the size of the stack in bytes; nil for the system's default.
public func onThread<Value: Sendable>(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Value
) async -> Value {
    await withCheckedContinuation { continuation in
        startTestThread(stackSize: stackSize) { continuation.resume(returning: body()) }
    }
}

/// Starts a thread that ends after the closure.
public func startTestThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    let result = withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { buffer in
        guard let attributes = buffer.baseAddress else {
            preconditionFailure("The allocation has no address.")
        }
        pthread_attr_init(attributes)
        defer { pthread_attr_destroy(attributes) }
        if let stackSize { pthread_attr_setstacksize(attributes, stackSize) }
        pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        #if canImport(Darwin)
        var thread: pthread_t?
        return pthread_create(
            &thread, attributes,
            { context in
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        #else
        var thread = pthread_t()
        return pthread_create(
            &thread, attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        #endif
    }
    precondition(result == 0, "cannot start a thread: error \(result)")
}

/// A number that identifies the current thread.
public var currentThread: UInt {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
}
