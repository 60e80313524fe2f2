#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Runs blocking code on a thread of its own: neither the main thread nor one that tasks share.
///
/// - Parameter stackSize: bytes; the system's default unless given.
package func onThread<Value: Sendable>(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Value
) async -> Value {
    await withCheckedContinuation { continuation in
        startTestThread(stackSize: stackSize) { continuation.resume(returning: body()) }
    }
}

/// Makes a thread that ends by itself.
package func startTestThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    let result = withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) { buffer in
        guard let attributes = buffer.baseAddress else { preconditionFailure("room for one") }
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
    precondition(result == 0, "no thread to test with: error \(result)")
}

/// Tells threads apart.
package var currentThread: UInt {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
}
