/// The importance of work to the user.
///
/// On Linux the quality determines the niceness of the worker thread that runs the work, relative
/// to the niceness of the process:
///
/// | | niceness |
/// |---|---|
/// | ``userInteractive`` | 5 less, if the process may lower niceness; otherwise as the process |
/// | ``userInitiated``, ``default`` | as the process |
/// | ``utility`` | 5 more |
/// | ``background`` | 10 more |
///
/// Work of a quality further up in the table also starts before work of a lower quality, and does
/// not wait for workers that are busy with lower qualities. An async body continues with the
/// urgency with which it began, or with a higher urgency after a promotion. Work of a lower quality
/// still gets its turn, however much work of higher qualities arrives: after 16 more urgent starts,
/// one item of each lower quality starts, unless an item of that quality is running.
/// ``userInitiated`` and ``default`` are equal in this respect. ``Operation/queuePriority`` decides
/// among the operations of one queue.
///
/// Each step of niceness is about a quarter more or less of a contended processor; no thread is
/// starved. A niceness below that of the process requires the capability `CAP_SYS_NICE` (root has
/// it) or a limit `RLIMIT_NICE` (in a shell: `ulimit -e`) that permits it.
///
/// Each niceness has worker threads of its own, which keep it for as long as they exist. So an
/// operation that is promoted while it runs continues with the niceness with which it began; an
/// async body continues with the niceness of its new quality after it was suspended. When the
/// number of threads has reached its limit, a worker also runs work of other qualities.
///
/// A program that sets no quality of service other than `default` and `userInitiated` has only
/// threads with the niceness of the process. So has every program on other systems.
///
/// The raw values are those of Foundation.
public enum QualityOfService: Int, Sendable, Hashable, CaseIterable {
    /// Work that a person interacts with at this moment.
    case userInteractive = 0x21
    /// Work that a person asked for and waits for.
    case userInitiated = 0x19
    /// Work that takes a while and that nobody waits for continuously.
    case utility = 0x11
    /// Work that nobody sees.
    case background = 0x09
    /// No quality was specified.
    case `default` = -1
}

extension QualityOfService {
    /// The rank, from 0 for `default`, which never counts, to 4 for the most important quality.
    var rank: Int {
        switch self {
        case .default: 0
        case .background: 1
        case .utility: 2
        case .userInitiated: 3
        case .userInteractive: 4
        }
    }

    init(rank: Int) {
        switch rank {
        case 1: self = .background
        case 2: self = .utility
        case 3: self = .userInitiated
        case 4: self = .userInteractive
        default: self = .default
        }
    }
}

extension QualityOfService {
    /// Makes the quality that corresponds to the priority of a task; nil for the priority that
    /// tasks have anyway.
    init?(_ priority: JobPriority) {
        switch priority.rawValue {
        case 1...9: self = .background
        case 10...17: self = .utility
        case 22...25: self = .userInitiated
        case 26...: self = .userInteractive
        default: return nil
        }
    }
}
