// Operations: units of work as objects, and queues that run them.
//
// Input: operations (subclasses of `Operation`, blocks, async bodies) and their configuration:
// dependencies, priorities, cancellation, suspension. Output: calls of their `start()` on worker
// threads, at the right time and at most once, and notifications: states, completion blocks, waits.
//
//   Operation, BlockOperation, TypedOperation     users make operations
//            │ dependencies, cancel
//   OperationQueue                                users add operations to a queue
//            │ "I have something runnable"
//   WorkerPool of OperationsRuntime               threads; takes the best operation of each queue
//
// Scheduling.md in Documentation/Scheduling.docc describes the protocol between them. Its page
// Doors.md draws the layers: the ground, which is the module OperationsRuntime, the core
// (`Lifecycle/`, `Dependencies/`, `Scheduling/`, `Outcome/`, `QualityOfService/`), the features,
// and the diagnosis. The file `Scripts/layers` holds the table. The module needs only
// OperationsRuntime, Synchronization and libc, and Dispatch for the main queue.
