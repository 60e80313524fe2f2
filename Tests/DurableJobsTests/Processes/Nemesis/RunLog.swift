#if DurableJobs && JOB_FAULTS
import OperationsRuntime
import Operations
import OperationsTestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// Writes when the runs of jobs begin and end, from all processes into one file. The times are
/// those of `Machine.timeSinceBoot`, a clock that all processes and network namespaces share.
final class RunLog: Sendable {
    /// A line of the file.
    enum Entry: Codable, Sendable {
        case began(
            run: UInt64, job: JobID, attempt: Int, process: Int32, time: Duration,
            isObedient: Bool)
        /// - Parameters:
        ///   - lease: the end of the lease as the worker knew it last.
        ///   - pauses: the times in which the body did nothing.
        ///   - isCancelled: whether the body was asked to end.
        case ended(
            run: UInt64, time: Duration, lease: Duration?, pauses: [Span], isCancelled: Bool)
        /// A process that performs jobs has begun.
        case process(identity: String, number: Int32)
        /// The driver kills a process.
        ///
        /// - Parameter wasStopping: whether the store knew that the process was asked to stop.
        case killed(process: Int32, time: Duration, wasStopping: Bool)
        /// A process of a program that cannot decode the jobs has begun.
        case deployed(process: Int32)
        /// A worker has a lease, and was not asked to stop.
        case leased(process: Int32, time: Duration, hasFreeSlot: Bool)
        /// The program blocks all threads of Swift's own pool.
        case blocked(process: Int32, span: Span)
        /// A worker has lost its lease.
        case lostLease(process: Int32, time: Duration)
        /// A worker reports that a job was discarded.
        case discarded(job: JobID)
        /// A worker was asked to stop.
        case stopping(process: Int32, time: Duration, grace: Duration)
        /// It has stopped.
        ///
        /// - Parameter pause: how long its process stood still since the request.
        case stopped(process: Int32, time: Duration, pause: Duration)

        init?(_ event: JobWorkerEvent) {
            switch event {
            case .leaseLost: self = .lostLease(process: getpid(), time: Machine.timeSinceBoot)
            case .ended(let job, _, _, .discarded, _): self = .discarded(job: job)
            default: return nil
            }
        }
    }

    /// One run of the body of a job.
    final class Run: Sendable {
        private let log: RunLog
        private let number = UInt64.random(in: 0 ... .max)
        private let generation: Int
        private let notes: Locked<Notes>

        private struct Notes {
            var last: Duration
            var lease: Duration?
            var pauses: [Span] = []
        }

        /// A body notes every few milliseconds that it runs. If a note is later than this, then its
        /// process was stopped, or the machine was busy, or a disk did not answer.
        private static let longestPause = Duration.milliseconds(200)

        init(_ log: RunLog, _ context: JobContext, isObedient: Bool) {
            (self.log, generation) = (log, context.record.generation)
            let time = Machine.timeSinceBoot
            notes = Locked(Notes(last: time))
            log.write(
                .began(
                    run: number, job: context.id, attempt: context.attempt, process: getpid(),
                    time: time, isObedient: isObedient))
            log.bodies.withLock { $0 += 1 }
            note()
        }

        /// Notes that the body runs, and the end of the lease, unless the worker has lost the lease
        /// of this run.
        func note() {
            let time = Machine.timeSinceBoot
            notes.withLock { notes in
                if time - notes.last > Self.longestPause {
                    notes.pauses.append(Span(start: notes.last, end: time))
                }
                notes.last = time
            }
            guard let worker = log.worker.withLock({ $0 }) else { return }
            let end = worker.lease.withLock { $0.end }
            guard let end, worker.state.withLock({ $0.generation }) == generation else { return }
            notes.withLock { $0.lease = end }
        }

        /// Kills the process, unless its worker was asked to stop: then the death would count for
        /// nothing.
        func killProcess() {
            guard let worker = log.worker.withLock({ $0 }),
                !worker.state.withLock({ $0.isStopping })
            else { return }
            log.write(
                .killed(process: getpid(), time: Machine.timeSinceBoot, wasStopping: false))
            kill(getpid(), SIGKILL)
        }

        func end() {
            note()
            let notes = notes.withLock { $0 }
            log.write(
                .ended(
                    run: number, time: notes.last, lease: notes.lease, pauses: notes.pauses,
                    isCancelled: Task.isCancelled))
            log.bodies.withLock { $0 -= 1 }
        }
    }

    /// The worker of this process, once it is made.
    let worker = Locked<JobWorker?>(nil)
    /// The number of bodies that run in this process.
    let bodies = Locked(0)
    private let descriptor: Int32

    /// - Parameter path: the file, which is shared with other processes.
    init(_ path: String) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        precondition(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
    }

    func begin(_ context: JobContext, isObedient: Bool) -> Run {
        Run(self, context, isObedient: isObedient)
    }

    deinit { close(descriptor) }

    /// Notes again and again that the worker has a lease, until the process ends.
    func noteLease(width: Int) {
        startTestThread { [self] in
            while true {
                usleep(100_000)
                guard let worker = self.worker.withLock({ $0 }),
                    let end = worker.lease.withLock({ $0.end }), Machine.timeSinceBoot < end,
                    !worker.state.withLock({ $0.isStopping })
                else { continue }
                write(
                    .leased(
                        process: getpid(), time: Machine.timeSinceBoot,
                        hasFreeSlot: bodies.withLock { $0 } < width))
            }
        }
    }

    func write(_ entry: Entry) { LineFile.append(entry, to: descriptor) }

    static func read(_ path: String) -> [Entry] { LineFile.read(path) }
}

/// A file of JSON lines that several processes append to.
enum LineFile {
    /// Writes a line with one call, so that the lines of several processes do not mix.
    static func append(_ value: some Encodable, to descriptor: Int32) {
        guard var line = try? JSONEncoder().encode(value) else { return }
        line.append(UInt8(ascii: "\n"))
        line.withUnsafeBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
    }

    static func read<Value: Decodable>(_ path: String) -> [Value] {
        guard let data = try? Data(contentsOf: URL(filePath: path)) else { return [] }
        return data.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(Value.self, from: Data($0))
        }
    }
}
#endif
