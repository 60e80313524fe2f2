/// Runs pieces of work on the workers, each in a task that has the task-local values and the priority of
/// the one that made this.
///
/// Only a task can inherit, and only from the one that makes it. So there is always one task here that is
/// free, and before it begins with a piece of work it makes the next.
final class InheritingTasks: Sendable {
    typealias Work = @Sendable () -> Void

    private struct State {
        var pending = FIFO<Work>()
        var idle: [CheckedContinuation<Work?, Never>] = []
        /// Tasks that are idle, or about to be.
        var free = 1
        var isClosed = false
    }

    private let state = Protected(State())

    /// To be made in the task that is inherited from.
    init() { makeTask() }

    private func makeTask() {
        Task(executorPreference: PoolExecutor.shared) {
            // The operation around the one that made this is not the one that runs here.
            await TaskContext.$body.withValue(nil) { await self.serve() }
        }
    }

    func submit(_ work: @escaping Work) {
        let (idle, isClosed) = state.withLock {
            state -> (CheckedContinuation<Work?, Never>?, Bool) in
            if state.isClosed { return (nil, true) }
            if let idle = state.idle.popLast() { return (idle, false) }
            state.pending.append(work)
            return (nil, false)
        }
        if isClosed { WorkerPool.shared.submit(.block(work)) }
        idle?.resume(returning: work)
    }

    /// There is nobody left to inherit from. What operations have added to the queue they run in, and goes on
    /// after that, is for the workers.
    func close() {
        var (idle, pending) = state.withLock { state in
            state.isClosed = true
            defer { (state.idle, state.pending) = ([], FIFO()) }
            return (state.idle, state.pending)
        }
        for continuation in idle { continuation.resume(returning: nil) }
        while let work = pending.popFirst() { WorkerPool.shared.submit(.block(work)) }
    }

    private func serve() async {
        while let work = await next() {
            let isLast = state.withLock { state in
                state.free -= 1
                guard state.free == 0, !state.isClosed else { return false }
                state.free = 1
                return true
            }
            if isLast { makeTask() }
            work()
            let isNeeded = state.withLock { state in
                guard !state.isClosed, state.free < WorkerPool.shared.cores else { return false }
                state.free += 1
                return true
            }
            if !isNeeded { return }
            // Others have their turn; and a thread that is about to end takes nothing more.
            await Task.yield()
        }
    }

    private func next() async -> Work? {
        await withCheckedContinuation { continuation in
            let found: Work?? = state.withLock { state in
                if state.isClosed { return .some(nil) }
                if let work = state.pending.popFirst() { return work }
                state.idle.append(continuation)
                return nil
            }
            if let found { continuation.resume(returning: found) }
        }
    }
}
