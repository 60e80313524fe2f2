import Foundation

/// What the properties of a progress show.
private func shown(_ progress: Progress) -> String {
    "\(progress.completedUnitCount)/\(progress.totalUnitCount) \(progress.fractionCompleted)"
        + (progress.isFinished ? " finished" : "")
        + (progress.isCancelled ? " cancelled" : "")
        + (progress.isIndeterminate ? " indeterminate" : "")
}

func progressOfAQueue() {
    // Serial, because the progress of a queue races in Foundation on Linux.
    let queue = serialQueue(isSuspended: true)
    line("a new queue", shown(queue.progress))
    line("is one object", queue.progress === queue.progress)
    queue.progress.totalUnitCount = 3
    let operations = (0..<3).map { _ in Operation() }
    queue.addOperations(operations, waitUntilFinished: false)
    line("none has run", shown(queue.progress))
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    line("all have run", shown(queue.progress))

    let uncounted = serialQueue()
    uncounted.addOperations([Operation(), Operation()], waitUntilFinished: true)
    line("without a total", shown(uncounted.progress))

    let cancelled = serialQueue(isSuspended: true)
    cancelled.progress.totalUnitCount = 2
    let pair = [Operation(), Operation()]
    cancelled.addOperations(pair, waitUntilFinished: false)
    pair[0].cancel()
    cancelled.isSuspended = false
    cancelled.waitUntilAllOperationsAreFinished()
    line("one was cancelled", shown(cancelled.progress))
}

func progress() {
    let progress = Progress(totalUnitCount: 4)
    line("new", shown(progress))
    progress.completedUnitCount = 1
    line("one of four", shown(progress))
    progress.completedUnitCount = 4
    line("all of four", shown(progress))
    progress.totalUnitCount = 8
    line("with a larger total", shown(progress))
    line("without a total", shown(Progress(totalUnitCount: 0)))
    line("with a negative total", shown(Progress(totalUnitCount: -1)))
    line("isCancellable", progress.isCancellable)

    let parent = Progress(totalUnitCount: 10)
    let first = Progress(totalUnitCount: 2, parent: parent, pendingUnitCount: 4)
    let second = Progress(totalUnitCount: 5)
    parent.addChild(second, withPendingUnitCount: 6)
    line("a parent", shown(parent))
    first.completedUnitCount = 1
    line("a half of a child", shown(parent))
    second.completedUnitCount = 5
    line("a finished child", shown(parent))
    first.completedUnitCount = 2
    line("all children", shown(parent))

    let current = Progress(totalUnitCount: 2)
    line("no current progress", Progress.current() == nil)
    current.becomeCurrent(withPendingUnitCount: 1)
    line("the current progress", Progress.current() === current)
    let implicit = Progress(totalUnitCount: 1)
    current.resignCurrent()
    line("after it has resigned", Progress.current() == nil)
    implicit.completedUnitCount = 1
    line("a child that was made meanwhile", shown(current))

    let log = Log()
    let cancelled = Progress(totalUnitCount: 2)
    let child = Progress(totalUnitCount: 1, parent: cancelled, pendingUnitCount: 1)
    child.cancellationHandler = { log.write("handler") }
    cancelled.cancel()
    line("cancelled", shown(cancelled))
    line("a child of one that was cancelled", child.isCancelled)
    while log.words.isEmpty { sched_yield() }
    line("the handler of a child", log.words)
}
