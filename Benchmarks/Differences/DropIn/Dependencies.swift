import Foundation

func dependencies() {
    let log = Log()
    let a = Note("a", log)
    let b = Note("b", log)
    let c = Note("c", log)
    c.addDependency(a)
    c.addDependency(b)
    line("dependencies in order", c.dependencies.map { $0.name ?? "" })
    c.addDependency(a)
    line("the same dependency twice", c.dependencies.count)
    line("with two dependencies", state(of: c))
    a.start()
    line("with one that is left", state(of: c))
    line("dependencies after the end of one", c.dependencies.count)
    b.start()
    line("with none that is left", state(of: c))
    c.removeDependency(a)
    line("after a finished one was removed", c.dependencies.map { $0.name ?? "" })
    c.removeDependency(a)
    line("after it was removed again", c.dependencies.count)
    c.start()
    line("order by hand", log.words)

    let queueLog = Log()
    let queue = OperationQueue()
    let chain = (0..<5).map { Note("\($0)", queueLog) }
    for (next, previous) in zip(chain.dropFirst(), chain) { next.addDependency(previous) }
    queue.addOperations(chain.reversed(), waitUntilFinished: true)
    line("a chain that was added backwards", queueLog.words)

    let acrossLog = Log()
    let first = Note("first", acrossLog)
    let second = Note("second", acrossLog)
    second.addDependency(first)
    let other = OperationQueue()
    other.addOperation(second)
    line("waits for another queue", state(of: second))
    queue.addOperation(first)
    other.waitUntilAllOperationsAreFinished()
    line("across queues", acrossLog.words)

    let diamondLog = Log()
    let top = Note("top", diamondLog)
    let left = Note("side", diamondLog)
    let right = Note("side", diamondLog)
    let bottom = Note("bottom", diamondLog)
    for side in [left, right] {
        side.addDependency(top)
        bottom.addDependency(side)
    }
    queue.addOperations([bottom, left, right, top], waitUntilFinished: true)
    line("a diamond", diamondLog.words)

    let cancelledLog = Log()
    let cancelled = Note("cancelled", cancelledLog)
    let dependent = Note("dependent", cancelledLog)
    dependent.addDependency(cancelled)
    cancelled.cancel()
    line("its dependency is cancelled and not in a queue", state(of: dependent))
    queue.addOperations([cancelled, dependent], waitUntilFinished: true)
    line("after a dependency that was cancelled", cancelledLog.words)

    let finished = Operation()
    finished.start()
    let late = Operation()
    late.addDependency(finished)
    line("with a dependency that had finished", state(of: late))
    line("it is listed", late.dependencies.count)
    late.start()
    line("dependencies after the end", late.dependencies.count)
    late.addDependency(Operation())
    line("a dependency for a finished operation", late.dependencies.count)
    line("state of it", state(of: late))

    let several = Note("several", Log())
    for _ in 0..<3 { several.addDependency(Operation()) }
    let kept = several.dependencies[1]
    several.removeDependency(several.dependencies[2])
    several.removeDependency(several.dependencies[0])
    line("the one that was not removed", several.dependencies == [kept])
    line("with the one that was not removed", state(of: several))
}

func dependencyOfOneThatRuns() {
    let held = Held()
    OperationQueue().addOperation(held)
    held.began.wait()
    held.addDependency(Operation())
    line("executes", held.isExecuting)
    held.mayEnd.open()
    held.waitUntilFinished()
    line("finished", held.isFinished)
}
