import Dispatch
import Operations
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What large amounts are divided by where code runs slowly.
#if THREAD_SANITIZER
let slowness = 20
#elseif DEBUG
let slowness = 10
#else
let slowness = 1
#endif

/// Runs blocking code on a thread of its own: neither the main thread nor one that tasks share.
///
/// - Parameter stackSize: bytes; the system's default unless given.
func onThread<Value: Sendable>(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Value
) async -> Value {
    await withCheckedContinuation { continuation in
        startTestThread(stackSize: stackSize) { continuation.resume(returning: body()) }
    }
}

/// Makes a thread that ends by itself.
func startTestThread(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    if let stackSize { pthread_attr_setstacksize(&attributes, stackSize) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    #if canImport(Darwin)
    var thread: pthread_t?
    let result = pthread_create(
        &thread, &attributes,
        { context in
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context)
    #else
    var thread = pthread_t()
    let result = pthread_create(
        &thread, &attributes,
        { context in
            guard let context else { return nil }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context)
    #endif
    pthread_attr_destroy(&attributes)
    precondition(result == 0, "no thread to test with: error \(result)")
}

/// Tells threads apart.
var currentThread: UInt {
    #if canImport(Darwin)
    UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
}

/// Checks what a process said before it ended.
func expect(
    _ result: ExitTest.Result?, says sentences: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for sentence in sentences {
        #expect(text.contains(sentence), "said: \(text)", sourceLocation: sourceLocation)
    }
}

/// An operation that does nothing, known by a name.
func named(_ name: String) -> Operation {
    let operation = Operation()
    operation.name = name
    return operation
}

/// Counts its own end.
final class Token: Sendable {
    private let gone: Counter
    init(_ gone: Counter) { self.gone = gone }
    deinit { gone.increment() }
}

/// Seeds of random tests: two fixed ones and two new ones each time. A failure prints its seed.
let contractSeeds: [UInt64] = {
    var generator = SystemRandomNumberGenerator()
    return [1, 2] + (0..<2).map { _ in generator.next() }
}()

/// Waits for what follows an event without announcing itself, as the release of memory does; false if
/// it has not come about after two minutes.
func comesTrue(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        await Task.yield()
    }
    return true
}

/// Ends the process in a minute: for exit tests of code that would hang if it were wrong, with the status
/// that makes the test fail.
func endSoon(_ status: Int32 = EXIT_SUCCESS) {
    startTestThread {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 60)
        exit(status)
    }
}
