import Synchronization

/// Whether anybody in the process has asked for a quality of service that changes a thread.
///
/// Until then nothing that this would need is done where it would cost: all threads are alike anyway.
enum QualityOfServiceUse {
    private static let flag = Atomic<Bool>(false)

    static var isOn: Bool {
        @inline(__always) get { flag.load(ordering: .relaxed) }
    }

    /// To be called before the quality is stored anywhere.
    static func begins(rank: Int) {
        if QualityOfServiceState.nicenessOffset(ofRank: rank) != 0, !isOn {
            flag.store(true, ordering: .sequentiallyConsistent)
        }
    }
}

extension ThreadContext {
    /// The rank that an operation takes over which is made here and now.
    static var inferredQualityRank: Int {
        @inline(__always) get {
            // No reference is counted: this is asked each time an operation is made.
            withCurrent { context in
                if let operation = context.operation {
                    return operation._withUnsafeGuaranteedRef { $0.status.quality.rankInForce }
                }
                if context.isFirst { return QualityOfService.userInitiated.rank }
                return QualityOfServiceUse.isOn ? rankOutsideOfThreads : 0
            }
        }
    }

    /// Inside the body of an asynchronous operation, or where a thread serves the main queue.
    @inline(never)
    private static var rankOutsideOfThreads: Int {
        if let operation = TaskContext.operation { return operation.status.quality.rankInForce }
        return MainThread.isCurrent ? QualityOfService.userInitiated.rank : 0
    }
}
