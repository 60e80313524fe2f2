import Synchronization

/// Whether any code in the process has requested a quality of service other than the usual ones.
///
/// Until then the library skips the work for qualities wherever that work would take time: all
/// operations are equally urgent, and all workers are of one class.
enum QualityOfServiceUse {
    private static let flag = Atomic<Bool>(false)

    static var isOn: Bool {
        @inline(__always) get { flag.load(ordering: .relaxed) }
    }

    /// Records the use of a quality. Called before the quality is stored anywhere.
    static func begins(rank: Int) {
        if Urgency(rank: rank) != .usual, !isOn {
            flag.store(true, ordering: .sequentiallyConsistent)
        }
    }
}

extension ThreadContext {
    /// The rank that an operation inherits if it is created here and now.
    static var inferredQualityRank: Int {
        @inline(__always) get {
            // This property counts no references, because every creation of an operation reads it.
            withCurrent { context in
                if let operation = context.operation {
                    return operation._withUnsafeGuaranteedRef { $0.status.quality.rankInForce }
                }
                if context.isFirst { return QualityOfService.userInitiated.rank }
                return QualityOfServiceUse.isOn ? rankOutsideOfThreads : 0
            }
        }
    }

    /// The inherited rank inside the body of an asynchronous operation, or on a thread that serves
    /// the main queue.
    @inline(never)
    private static var rankOutsideOfThreads: Int {
        if let operation = TaskContext.operation { return operation.status.quality.rankInForce }
        return MainThread.isCurrent ? QualityOfService.userInitiated.rank : 0
    }
}
