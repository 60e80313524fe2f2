// OperationsRuntime: the ground on which operations run. It knows no operation.
//
// Input: work items (a queue that has work, a block, a job of a task, a timer). Output: calls on
// worker threads, in the order of their urgency, while a thread that blocks is replaced.
//
//   Workers/WorkerPool       the threads: PoolState decides, WorkerWatch finds those that block
//   Workers/ThreadContext    what the library keeps for each thread
//   Workers/TimeSource       clocks and timers
//   Workers/Locked, SpinLock, Latch, Parker       locks, and places where threads wait
//   Collections/             containers
//
// The module has no public symbols: users import Operations. It needs only Synchronization and
// libc, and Dispatch for the main queue and for semaphores. The page WorkerThreads.md of
// Operations.docc describes how the pool works.
