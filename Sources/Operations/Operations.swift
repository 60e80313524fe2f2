// Operations: units of work as objects, and queues that run them.
//
// In come operations (subclasses of `Operation`, blocks, async bodies) and what is said about them:
// dependencies, priorities, cancellation, suspension. Out go calls of their `start()` on worker
// threads, at the right time and at most once, and the news of it: states, completion blocks, waits.
//
//   Operation, BlockOperation, TypedOperation     what users make
//            │ dependencies, cancel
//   OperationQueue                                what users add them to
//            │ "I have something runnable"
//   Workers/WorkerPool                            threads; takes the best operation of each queue
//
// `Scheduling/` holds the two state machines (pure values), `Workers/` everything that touches
// threads, `Graph/` what looks at more than one edge. The protocol between them is written down in
// Operations.docc/Scheduling.md. The module needs nothing but Synchronization and libc, and Dispatch
// for the main queue.
