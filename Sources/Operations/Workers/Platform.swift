// Everything that differs between systems: threads, thread-local storage, niceness, processor clocks,
// limits. Only Linux is tested by this project's own machines.

import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A mutex with conditions around a value: whoever holds it may wait until another thread signals.
///
/// Unchecked: the value is only touched with the mutex held.
final class Monitor<State>: @unchecked Sendable {
    #if canImport(Darwin)
    private static var clock: clockid_t { CLOCK_REALTIME }
    #else
    private static var clock: clockid_t { CLOCK_MONOTONIC }
    #endif

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let state: UnsafeMutablePointer<State>

    init(_ initial: State) {
        state = .allocate(capacity: 1)
        state.initialize(to: initial)
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        #if !canImport(Darwin)
        // Time limits must not depend on somebody setting the clock.
        pthread_condattr_setclock(&attributes, Self.clock)
        #endif
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
    }

    /// Runs a body that does not wait.
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state.pointee)
    }

    /// Runs a body that may wait.
    ///
    /// It gets no `inout` value: that would promise the compiler that nobody else touches the state until
    /// the body ends, and it would keep parts of it in registers across the wait. Each use of
    /// ``Held/state`` is an access of its own.
    func hold<Result>(_ body: (Held) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(Held(monitor: self))
    }

    /// The right to touch the state and to wait, inside ``hold(_:)``.
    struct Held {
        fileprivate let monitor: Monitor

        var state: State {
            unsafeAddress { UnsafePointer(monitor.state) }
            nonmutating unsafeMutableAddress { monitor.state }
        }

        /// Waits; the mutex is free meanwhile. May wake for no reason.
        func wait() {
            pthread_cond_wait(monitor.condition, monitor.mutex)
        }

        /// As ``wait()``; returns false when the time was up.
        func wait(milliseconds: Int) -> Bool {
            var deadline = timespec()
            clock_gettime(Monitor.clock, &deadline)
            deadline.tv_nsec += (milliseconds % 1000) * 1_000_000
            deadline.tv_sec += milliseconds / 1000 + deadline.tv_nsec / 1_000_000_000
            deadline.tv_nsec %= 1_000_000_000
            return pthread_cond_timedwait(monitor.condition, monitor.mutex, &deadline) != ETIMEDOUT
        }
    }

    func signalAll() { pthread_cond_broadcast(condition) }
}

/// Nanoseconds of a clock that only ever goes forward.
func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Lets another thread have the processor, if one wants it.
func yieldProcessor() { sched_yield() }

/// Lets other threads have the processor for a moment, whatever their priority.
func sleepBriefly() {
    var time = timespec(tv_sec: 0, tv_nsec: 50_000)
    nanosleep(&time, nil)
}

/// Makes a detached thread; false if the system refuses.
func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body)).toOpaque()
    #if canImport(Darwin)
    var thread: pthread_t?
    let result = pthread_create(
        &thread, nil,
        { context in
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context)
    if let thread { pthread_detach(thread) }
    #else
    var thread = pthread_t()
    let result = pthread_create(
        &thread, nil,
        { context in
            guard let context else { return nil }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            return nil
        }, context)
    if result == 0 { pthread_detach(thread) }
    #endif
    // Nobody else will take the reference.
    if result != 0 { Unmanaged<Body>.fromOpaque(context).release() }
    return result == 0
}

/// One pointer for each thread.
struct ThreadLocalPointer: Sendable {
    private let key: pthread_key_t

    init(destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        var key = pthread_key_t()
        #if canImport(Darwin)
        pthread_key_create(&key) { destructor($0) }
        #else
        pthread_key_create(&key, destructor)
        #endif
        self.key = key
    }

    var value: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}

/// Whether the calling thread is the one that the process began with.
var isFirstThread: Bool {
    #if canImport(Darwin)
    pthread_main_np() == 1
    #else
    ThreadProbe()?.id == getpid()
    #endif
}

/// The kernel's number for the calling thread; nil where threads have no niceness of their own.
var currentThreadID: Int32? {
    #if canImport(Darwin)
    nil
    #else
    ThreadProbe()?.id
    #endif
}

/// The niceness of the thread that the process began with.
var nicenessOfFirstThread: Int32 {
    #if canImport(Darwin)
    0
    #else
    currentNiceness(ofThread: getpid())
    #endif
}

/// The niceness of a thread; 0 is the calling one.
func currentNiceness(ofThread thread: Int32 = 0) -> Int32 {
    // On Linux a "process" is a thread here.
    #if canImport(Darwin)
    0
    #elseif canImport(Glibc)
    getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(thread))
    #else
    getpriority(PRIO_PROCESS, id_t(thread))
    #endif
}

/// Sets a thread's niceness, from -20 (favoured) to 19; false if that is not allowed.
func setNiceness(_ niceness: Int32, ofThread thread: Int32 = 0) -> Bool {
    #if canImport(Darwin)
    false
    #elseif canImport(Glibc)
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(thread), niceness) == 0
    #else
    setpriority(PRIO_PROCESS, id_t(thread), niceness) == 0
    #endif
}

/// Reads how much processor time a thread has used, and whether it sleeps.
struct ThreadProbe: Sendable {
    #if !canImport(Darwin)
    private let clock: clockid_t
    /// The kernel's number for the thread.
    let id: pid_t

    init?() {
        var clock = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return nil }
        self.clock = clock
        // The kernel's interface: the clock of a thread holds the complement of its number, shifted.
        self.id = ~(clock >> 3)
    }

    /// Nanoseconds of processor time; nil if the thread has ended.
    var processorTime: UInt64? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Whether the kernel has it waiting for something: not running, nor about to.
    var isSleeping: Bool {
        guard let text = readSmallFile("/proc/self/task/\(id)/stat") else { return false }
        // The state letter follows the thread's name, which is in parentheses and may hold any others.
        guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count else {
            return false
        }
        return text[end + 2] == UInt8(ascii: "S") || text[end + 2] == UInt8(ascii: "D")
    }
    #else
    init?() { nil }
    var processorTime: UInt64? { nil }
    var isSleeping: Bool { false }
    #endif
}

/// How many processors this process may use: its affinity and its control group's quota, at least 1.
func usableProcessorCount() -> Int {
    var count = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    if let allowed = affinityCount() { count = min(count, allowed) }
    if let text = readSmallFile("/sys/fs/cgroup/cpu.max") {
        let fields = text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
        let numbers = fields.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        if numbers.count == 2, numbers[1] > 0 {
            count = min(count, max(1, (numbers[0] + numbers[1] - 1) / numbers[1]))
        }
    }
    return Int(count)
}

/// The processors that the scheduler may put this process on.
private func affinityCount() -> Int? {
    let key = "Cpus_allowed:"
    guard let text = readSmallFile("/proc/self/status") else { return nil }
    let line = String(decoding: text, as: UTF8.self).split(separator: "\n").first {
        $0.hasPrefix(key)
    }
    guard let line else { return nil }
    let count = line.dropFirst(key.count).reduce(0) { $0 + ($1.hexDigitValue ?? 0).nonzeroBitCount }
    return count > 0 ? count : nil
}

/// The first 4 KiB of a file of the kernel's.
private func readSmallFile(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
        count = max(0, read(file, buffer.baseAddress, buffer.count))
    }
    return bytes.isEmpty ? nil : bytes
}

func writeToStandardError(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
}

/// What the system refused.
struct SystemError: Error {
    let number: Int32

    static var latest: SystemError { SystemError(number: errno) }

    /// What the system calls it.
    var reason: String { String(cString: strerror(number)) }
}

/// A file that takes the place of another one when it is complete, or is removed.
final class ReplacedFile {
    private static let lastNumber = Atomic<Int>(0)

    private let path: String
    private let temporaryPath: String
    private var file: Int32

    init(_ path: String) throws(SystemError) {
        self.path = path
        let number = Self.lastNumber.add(1, ordering: .relaxed).newValue
        temporaryPath = "\(path).\(getpid()).\(number).partial"
        file = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        if file < 0 { throw .latest }
    }

    deinit {
        guard file >= 0 else { return }
        close(file)
        unlink(temporaryPath)
    }

    func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                #if canImport(Glibc)
                Glibc.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                #elseif canImport(Musl)
                Musl.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                #elseif canImport(Darwin)
                Darwin.write(file, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                #endif
            }
            if count > 0 { done += count } else if count == 0 || errno != EINTR { throw .latest }
        }
    }

    func putInPlace() throws(SystemError) {
        // Some systems report here that there was no room.
        let result = close(file)
        file = -1
        guard result == 0, rename(temporaryPath, path) == 0 else {
            let error = SystemError.latest
            unlink(temporaryPath)
            throw error
        }
    }
}

/// Calls a function when the process exits, after which it ends.
func atProcessExit(_ body: @escaping @convention(c) () -> Void) { atexit(body) }
