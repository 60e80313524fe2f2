import OperationsRuntime
import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Glibc
#endif

/// What the program knows of the processors' time.
enum Processor {
    private static let unused = Atomic<UInt64>(0)

    /// The nanoseconds of processor time that all threads of the process have used.
    static var used: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Computes something, for a time in proportion to a number.
    static func compute(_ amount: Int) {
        var random = SplitMix64(seed: UInt64(amount))
        for _ in 0..<amount where random.next() == 0 { unused.store(1, ordering: .relaxed) }
    }

    static func yield() { sched_yield() }

    static func nap(microseconds: Int) {
        var time = timespec(
            tv_sec: microseconds / 1_000_000, tv_nsec: (microseconds % 1_000_000) * 1_000)
        nanosleep(&time, nil)
    }

    /// Waits until no thread of the process has used a processor for three times two milliseconds.
    ///
    /// Returns false if two seconds of processor time have passed before. It is the time that the
    /// process has used, so a machine that has no time for the process raises no false alarm.
    static func becomesQuiet() -> Bool {
        let start = used
        var quiet = 0
        while quiet < 3 {
            let before = used
            guard before - start < 2_000_000_000 else { return false }
            nap(microseconds: 2_000)
            quiet = used - before < 400_000 ? quiet + 1 : 0
            Heartbeat.beat()
        }
        return true
    }

    #if os(Linux)
    /// How many threads of the process run or could run, beside the one that asks.
    static func busyThreads() -> Int {
        guard let folder = opendir("/proc/self/task") else { return 0 }
        defer { closedir(folder) }
        var busy = 0
        while let entry = readdir(folder) {
            let number = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                Int(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self))
            }
            guard let number, let state = state(of: number) else { continue }
            if state != UInt8(ascii: "S") { busy += 1 }
        }
        // The thread that asks runs.
        return busy - 1
    }

    /// The letter of a thread's state, which follows the name in parentheses.
    private static func state(of thread: Int) -> UInt8? {
        guard let file = fopen("/proc/self/task/\(thread)/stat", "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 200)
        let count = fread(&bytes, 1, bytes.count, file)
        guard let end = bytes[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else {
            return nil
        }
        return bytes[end + 2]
    }
    #endif
}
