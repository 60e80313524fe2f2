/// How much a piece of work matters to the person who waits for it.
///
/// On Linux it becomes the niceness of the thread that runs the work, counted from the niceness of the
/// process:
///
/// | | niceness |
/// |---|---|
/// | ``userInteractive`` | 5 less, if the process may lower niceness; otherwise as the process |
/// | ``userInitiated``, ``default`` | as the process |
/// | ``utility`` | 5 more |
/// | ``background`` | 10 more |
///
/// What is above another one in the table also starts before it, and does not wait for workers that are busy
/// with it; an async body goes on as urgently as it began. What is below still has its turn, however much comes
/// that is above it: of each of the others something starts after 16 starts that were more urgent, unless something
/// of that kind is running. ``userInitiated`` and ``default`` are the same in this. ``Operation/queuePriority`` decides among the operations of one queue.
///
/// Each step of niceness is about a quarter more or less of a contended processor; nobody is starved.
/// Every process may raise niceness. Lowering it, also back to what it was, takes the capability
/// `CAP_SYS_NICE` (root has it) or a limit `RLIMIT_NICE` (in a shell: `ulimit -e`) that allows it. Without:
///
/// - `userInteractive` is no better than `userInitiated`;
/// - an operation that is promoted while it runs goes on as it began;
/// - a worker thread that has become nice runs other work as nice or nicer, and ends when there is only
///   work that is not; the next one takes its place. So a program that mixes qualities makes more
///   threads, some ten microseconds each.
///
/// A program that sets no quality of service other than `default` and `userInitiated` anywhere leaves its
/// threads as they are. On other systems threads are always left as they are.
///
/// The raw values are Foundation's.
public enum QualityOfService: Int, Sendable, Hashable, CaseIterable {
    /// Work that a person interacts with at this moment.
    case userInteractive = 0x21
    /// Work that a person asked for and waits for.
    case userInitiated = 0x19
    /// Work that takes a while and that nobody waits for at every moment.
    case utility = 0x11
    /// Work that nobody sees.
    case background = 0x09
    /// Nothing was said.
    case `default` = -1
}

extension QualityOfService {
    /// From 0 for `default`, which never counts, to 4 for the one that matters most.
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
