// What differs between systems: threads, thread-local storage, niceness, clocks, limits. (Condition
// variables: Latch.swift. Stacks: StackBounds.swift.) Only Linux is tested by this project's own
// machines.

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

extension timespec {
    init(nanoseconds: UInt64) {
        self.init(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    fileprivate var nanoseconds: UInt64 { UInt64(tv_sec) * 1_000_000_000 + UInt64(tv_nsec) }
}

/// Returns the nanoseconds of a clock that never goes backwards.
package func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.nanoseconds
}

/// Returns the nanoseconds of a monotonic clock that, like `ContinuousClock`, also counts the time
/// during which the machine sleeps.
package func continuousNanoseconds() -> UInt64 {
    var time = timespec()
    #if canImport(Darwin)
    clock_gettime(CLOCK_MONOTONIC_RAW, &time)
    #else
    clock_gettime(CLOCK_BOOTTIME, &time)
    #endif
    return time.nanoseconds
}

extension UInt64 {
    /// Returns the sum, or the largest number if the sum overflows.
    package func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// Yields the processor to another thread, if one is ready to run.
package func yieldProcessor() { sched_yield() }

/// Sleeps for 50 microseconds, so that other threads get the processor whatever their priority.
func sleepBriefly() {
    var time = timespec(tv_sec: 0, tv_nsec: 50_000)
    nanosleep(&time, nil)
}

/// Starts a detached thread. Returns false if the system refuses.
///
/// The thread blocks signals that are sent to the process, see `signalsBlockedByThreads`.
package func startThread(
    named name: String? = nil, _ body: @escaping @Sendable () -> Void
) -> Bool {
    final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }

        static func run(_ context: UnsafeMutableRawPointer?) {
            guard let context else { return }
            Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        }
    }
    let context = Unmanaged.passRetained(
        Body {
            if let name { nameThread(name) }
            body()
        }
    ).toOpaque()
    // A thread inherits the signal mask of its creator.
    var blocked = signalsBlockedByThreads
    var before = sigset_t()
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    // A `pthread_t` is a pointer in some C libraries, and a number in others.
    #if canImport(Darwin) || canImport(Musl)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let result = pthread_create(
        &thread, nil,
        { context in
            Body.run(context)
            return nil
        }, context)
    if result == 0 { detach(thread) }
    // No thread will take the reference.
    if result != 0 { Unmanaged<Body>.fromOpaque(context).release() }
    return result == 0
}

private func detach(_ thread: pthread_t?) {
    if let thread { pthread_detach(thread) }
}

/// The signals that the library's threads block and so leave to the threads of the program: all
/// signals except those that a fault of the thread itself raises, `SIGPIPE`, and `SIGPROF`, with
/// which profilers stop threads to take backtraces.
private var signalsBlockedByThreads: sigset_t {
    var signals = sigset_t()
    sigfillset(&signals)
    for signal in [
        SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF,
    ] { sigdelset(&signals, signal) }
    return signals
}

/// Names the calling thread for debuggers and lists of threads. The system keeps 15 bytes of the
/// name.
package func nameThread(_ name: String) {
    #if canImport(Darwin)
    pthread_setname_np(name)
    #else
    typealias Function = @convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32
    if let function = extraFunction("pthread_setname_np", as: Function.self) {
        _ = function(pthread_self(), name)
    }
    #endif
}

#if !canImport(Darwin)
/// Returns a function of the C library that the library's Swift module omits; nil if the C library
/// has no such function.
private func extraFunction<Function>(_ name: String, as type: Function.Type) -> Function? {
    dlsym(nil, name).map { unsafeBitCast($0, to: type) }
}
#endif

/// A thread-local pointer.
package struct ThreadLocalPointer: Sendable {
    private let key: pthread_key_t

    package init(destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
        var key = pthread_key_t()
        #if canImport(Darwin)
        // The same function, of which the system says that it gets no null pointer.
        typealias Destructor = @convention(c) (UnsafeMutableRawPointer) -> Void
        pthread_key_create(&key, unsafeBitCast(destructor, to: Destructor.self))
        #else
        pthread_key_create(&key, destructor)
        #endif
        self.key = key
    }

    package var value: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}

/// Whether the calling thread is the first thread of the process.
var isFirstThread: Bool {
    #if canImport(Darwin)
    pthread_main_np() == 1
    #else
    ThreadProbe()?.id == getpid()
    #endif
}

/// The niceness of the first thread of the process.
var nicenessOfFirstThread: Int32 {
    #if canImport(Darwin)
    0
    #else
    currentNiceness(ofThread: getpid())
    #endif
}

/// Returns the niceness of a thread; thread 0 is the calling thread.
package func currentNiceness(ofThread thread: Int32 = 0) -> Int32 {
    // On Linux `PRIO_PROCESS` addresses a thread.
    #if canImport(Darwin)
    0
    #elseif canImport(Glibc)
    getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(thread))
    #else
    getpriority(PRIO_PROCESS, id_t(thread))
    #endif
}

/// Sets the niceness of the calling thread, from -20 (favored) to 19. Returns false if that is not
/// permitted.
package func setNiceness(_ niceness: Int32) -> Bool {
    #if canImport(Darwin)
    false
    #elseif canImport(Glibc)
    setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) == 0
    #else
    setpriority(PRIO_PROCESS, 0, niceness) == 0
    #endif
}

/// Gives the calling thread, which has just been started, the importance that it keeps: a niceness,
/// or a class of quality of service on Apple's systems.
///
/// - Parameter offset: the niceness relative to that of the thread's creator.
func setImportance(nicenessOffset offset: Int32) {
    if offset == 0 { return }
    #if canImport(Darwin)
    let quality =
        if offset < 0 {
            QOS_CLASS_USER_INTERACTIVE
        } else {
            offset < 10 ? QOS_CLASS_UTILITY : QOS_CLASS_BACKGROUND
        }
    pthread_set_qos_class_self_np(quality, 0)
    #else
    _ = setNiceness(min(max(currentNiceness() + offset, -20), 19))
    #endif
}

/// The value of a variable of the process's environment; nil if it is not set.
package func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

/// Reads how much processor time a thread has used, and whether the thread sleeps.
struct ThreadProbe: Sendable {
    #if !canImport(Darwin)
    private let clock: clockid_t
    /// The kernel's number of the thread.
    let id: pid_t

    init?() {
        var clock = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return nil }
        self.clock = clock
        // By the kernel's interface, the identifier of a thread's clock holds the complement of the
        // thread's number, shifted left by three bits.
        self.id = ~(clock >> 3)
    }

    /// The processor time of the thread in nanoseconds; nil if the thread has ended.
    var processorTime: UInt64? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return time.nanoseconds
    }

    /// Whether the thread waits for something in the kernel, being neither running nor ready to
    /// run. Nil if the kernel cannot be asked: the answer is in a file, and that file, or a
    /// descriptor for it, may be missing.
    var isSleeping: Bool? {
        guard case .content(let text) = readFile("/proc/self/task/\(id)/stat", isShort: true) else {
            return nil
        }
        // The state letter follows the thread's name, which stands in parentheses and may itself
        // contain parentheses.
        guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count else {
            return nil
        }
        return text[end + 2] == UInt8(ascii: "S") || text[end + 2] == UInt8(ascii: "D")
    }

    /// What the thread does; nil if the kernel cannot be asked.
    var activity: ThreadActivity? {
        guard let isSleeping else { return nil }
        guard isSleeping else { return .computes }
        // Without permission to know the place, the file contains "0".
        guard case .content(let text) = readFile("/proc/self/task/\(id)/wchan", isShort: true),
            text.count > 1, let place = String(validating: text, as: UTF8.self)
        else { return .waits(at: nil) }
        return .waits(at: place)
    }
    #else
    private let thread: thread_act_t

    init?() { thread = pthread_mach_thread_np(pthread_self()) }

    private var info: thread_basic_info? {
        var info = thread_basic_info()
        let size = MemoryLayout<thread_basic_info>.size / MemoryLayout<integer_t>.size
        var count = mach_msg_type_number_t(size)
        let result = withUnsafeMutablePointer(to: &info) { info in
            info.withMemoryRebound(to: integer_t.self, capacity: size) {
                thread_info(thread, thread_flavor_t(THREAD_BASIC_INFO), $0, &count)
            }
        }
        return result == KERN_SUCCESS ? info : nil
    }

    /// The processor time of the thread in nanoseconds, of which the system counts microseconds;
    /// nil if the thread has ended.
    var processorTime: UInt64? {
        guard let info else { return nil }
        let seconds = info.user_time.seconds + info.system_time.seconds
        let microseconds = info.user_time.microseconds + info.system_time.microseconds
        return UInt64(seconds) * 1_000_000_000 + UInt64(microseconds) * 1_000
    }

    /// Whether the thread waits for something in the kernel; nil if the thread has ended.
    var isSleeping: Bool? {
        info.map { $0.run_state == TH_STATE_WAITING || $0.run_state == TH_STATE_UNINTERRUPTIBLE }
    }

    /// What the thread does; nil if the thread has ended.
    var activity: ThreadActivity? { isSleeping.map { $0 ? .waits(at: nil) : .computes } }
    #endif
}

/// The number of processors of the machine, at least 1.
var machineProcessorCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

/// The number of processors on which the system may run this process; nil if unknown.
var affinityCount: Int? {
    #if canImport(Darwin)
    nil
    #else
    typealias Function = @convention(c) (pid_t, Int, UnsafeMutableRawPointer) -> Int32
    guard let function = extraFunction("sched_getaffinity", as: Function.self) else { return nil }
    // Enough for 65,536 processors, more than kernels are built for.
    var bits = [UInt64](repeating: 0, count: 1024)
    let size = bits.count * MemoryLayout<UInt64>.size
    let result = bits.withUnsafeMutableBytes { bytes in
        bytes.baseAddress.map { function(getpid(), size, $0) }
    }
    let count = bits.reduce(0) { $0 + $1.nonzeroBitCount }
    return result == 0 && count > 0 ? count : nil
    #endif
}

/// The content of a file of the kernel, or the reason why there is none.
enum KernelFile: Equatable {
    case content([UInt8])
    case missing
    /// The file may exist but cannot be read now.
    case unreadable
}

/// Reads a file of the kernel, up to a megabyte.
///
/// - Parameter isShort: Whether the file is known to be small. A small file is read with one call,
///   without looking for its end.
func readFile(_ path: String, isShort: Bool = false) -> KernelFile {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .unreadable }
    defer { close(file) }
    var content: [UInt8] = []
    while content.count < 1 << 20 {
        let part = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            repeat {
                count = read(file, buffer.baseAddress, buffer.count)
            } while count < 0 && errno == EINTR
            count = max(0, count)
        }
        if part.isEmpty { break }
        content += part
        if isShort { break }
    }
    return .content(content)
}

package func writeToStandardError(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = write(2, bytes.baseAddress, bytes.count) }
}

/// Registers a function to be called when the process exits. The process ends after the call.
package func atProcessExit(_ body: @escaping @convention(c) () -> Void) { atexit(body) }
