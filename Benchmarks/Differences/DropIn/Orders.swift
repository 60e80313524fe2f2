import Foundation

func priorities() {
    let log = Log()
    let queue = serialQueue(isSuspended: true)
    let levels: [Operation.QueuePriority] = [.normal, .veryLow, .veryHigh, .low, .high]
    for level in levels {
        for number in 1...2 {
            let note = Note("\(level.rawValue)/\(number)", log)
            note.queuePriority = level
            queue.addOperation(note)
        }
    }
    line("operations in the order of addition", queue.operations.map { $0.name ?? "" })
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    line("with a width of 1", log.words)

    let changedLog = Log()
    queue.isSuspended = true
    let notes = ["a", "b", "c"].map { Note($0, changedLog) }
    queue.addOperations(notes, waitUntilFinished: false)
    notes[2].queuePriority = .high
    notes[0].queuePriority = .low
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    line("changed in a queue", changedLog.words)

    let dependentLog = Log()
    queue.isSuspended = true
    let urgent = Note("urgent", dependentLog)
    urgent.queuePriority = .veryHigh
    let late = Note("late", dependentLog)
    late.queuePriority = .veryLow
    urgent.addDependency(late)
    queue.addOperations([urgent, Note("normal", dependentLog), late], waitUntilFinished: false)
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    line("a dependency counts more than a priority", dependentLog.words)

    let fifoLog = Log()
    for number in 0..<8 { queue.addOperation { fifoLog.write("\(number)") } }
    queue.waitUntilAllOperationsAreFinished()
    line("blocks with a width of 1", fifoLog.words)

    let mixedLog = Log()
    let mixed = (0..<8).map { number -> Operation in
        guard number % 2 == 0 else { return BlockOperation { mixedLog.write("\(number)") } }
        return Note("\(number)", mixedLog)
    }
    queue.addOperations(mixed, waitUntilFinished: true)
    line("two classes in one batch", mixedLog.words)

    let duringLog = Log()
    let held = Held()
    queue.addOperation(held)
    held.began.wait()
    queue.addOperation { duringLog.write("normal") }
    let high = BlockOperation { duringLog.write("high") }
    high.queuePriority = .high
    queue.addOperation(high)
    held.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("added while another one runs", duringLog.words)
}

func width() {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 3
    line("a width", queue.maxConcurrentOperationCount)
    let held = (0..<5).map { _ in Held() }
    queue.addOperations(held, waitUntilFinished: false)
    for operation in held.prefix(3) { operation.began.wait() }
    line("begun with a width of 3", held.filter(\.isExecuting).count)
    line("counted", queue.operationCount)
    held[1].mayEnd.open()
    held[3].began.wait()
    line("the next one after an end", held.map(\.isExecuting))
    for operation in held { operation.mayEnd.open() }
    queue.waitUntilAllOperationsAreFinished()
    line("counted after the end", queue.operationCount)

    let wider = serialQueue()
    let pair = [Held(), Held()]
    wider.addOperations(pair, waitUntilFinished: false)
    pair[0].began.wait()
    line("begun with a width of 1", pair.map(\.isExecuting))
    wider.maxConcurrentOperationCount = 2
    pair[1].began.wait()
    line("begun after the width has grown", pair.map(\.isExecuting))
    for operation in pair { operation.mayEnd.open() }
    wider.waitUntilAllOperationsAreFinished()

    wider.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    line("the default width is set", wider.maxConcurrentOperationCount)

    let limited = serialQueue()
    let both = [Held(), Held()]
    limited.addOperations(both, waitUntilFinished: false)
    both[0].began.wait()
    both[1].cancel()
    both[0].mayEnd.open()
    limited.waitUntilAllOperationsAreFinished()
    line("begun, of which one was cancelled", both.map { $0.stateInMain != "" })

    let none = OperationQueue()
    none.maxConcurrentOperationCount = 0
    line("a width of 0", none.maxConcurrentOperationCount)
}

func barriers() {
    let log = Log()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 4
    let mayEnd = Door()
    for _ in 0..<3 {
        queue.addOperation {
            mayEnd.wait()
            log.write("before")
        }
    }
    queue.addBarrierBlock { log.write("barrier") }
    for _ in 0..<3 { queue.addOperation { log.write("after") } }
    queue.addBarrierBlock { log.write("barrier") }
    queue.addOperation { log.write("last") }
    line("counted while none can run on", queue.operationCount)
    line("listed", queue.operations.count)
    mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("order", log.words)
    line("counted after the end", queue.operationCount)

    let urgentLog = Log()
    let held = Held()
    queue.addOperation(held)
    held.began.wait()
    queue.addBarrierBlock { urgentLog.write("barrier") }
    let urgent = Note("urgent", urgentLog)
    urgent.queuePriority = .veryHigh
    queue.addOperation(urgent)
    held.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("before a more urgent operation", urgentLog.words)

    let cancelledLog = Log()
    let again = Held()
    queue.addOperation(again)
    again.began.wait()
    queue.addBarrierBlock { cancelledLog.write("barrier") }
    queue.addOperation { cancelledLog.write("behind") }
    queue.cancelAllOperations()
    again.mayEnd.open()
    queue.waitUntilAllOperationsAreFinished()
    line("in a cancelled queue", cancelledLog.words)

    let serialLog = Log()
    let serial = serialQueue()
    let before = Held()
    serial.addOperation(before)
    before.began.wait()
    serial.addOperation { serialLog.write("before") }
    serial.addBarrierBlock { serialLog.write("barrier") }
    serial.addOperation { serialLog.write("after") }
    before.mayEnd.open()
    serial.waitUntilAllOperationsAreFinished()
    line("with a width of 1", serialLog.words)
}

func suspending() {
    let log = Log()
    let queue = OperationQueue()
    queue.isSuspended = true
    line("isSuspended", queue.isSuspended)
    let notes = ["a", "b"].map { Note($0, log) }
    queue.addOperations(notes, waitUntilFinished: false)
    queue.addOperation { log.write("block") }
    line("counted", queue.operationCount)
    line("states", notes.map(state(of:)))
    let other = OperationQueue()
    other.addOperations([Note("other queue", log)], waitUntilFinished: true)
    line("nothing has run but another queue", log.words)
    queue.isSuspended = false
    queue.waitUntilAllOperationsAreFinished()
    line("after it goes on", log.sorted)

    let running = Held()
    queue.addOperation(running)
    running.began.wait()
    queue.isSuspended = true
    line("a running one runs on", running.isExecuting)
    running.mayEnd.open()
    running.waitUntilFinished()
    line("and ends", running.isFinished)
    queue.waitUntilAllOperationsAreFinished()
    line("a suspended queue that is empty", queue.operationCount)

    let chainLog = Log()
    let chain = serialQueue()
    let first = Held()
    let next = Note("next", chainLog)
    next.addDependency(first)
    chain.addOperations([first, next], waitUntilFinished: false)
    first.began.wait()
    chain.isSuspended = true
    first.mayEnd.open()
    first.waitUntilFinished()
    while !next.isReady { sched_yield() }
    other.addOperations([Operation()], waitUntilFinished: true)
    line("a dependent in a suspended queue", state(of: next))
    chain.isSuspended = false
    chain.waitUntilAllOperationsAreFinished()
    line("and after it goes on", chainLog.words)
    queue.isSuspended = false
    queue.isSuspended = false
    line("resumed twice", queue.isSuspended)
}
