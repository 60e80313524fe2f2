// snippet.hide
// Tasks that block
import Operations
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

// Blocks until twenty callers have come.
let arrived = Atomic(0)
@Sendable func meetNineteenOthers() {
    arrived.add(1, ordering: .relaxed)
    while arrived.load(ordering: .relaxed) < 20 { usleep(1_000) }
}

// snippet.show
actor Camera {
    private nonisolated let executor = SerialWorkerExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func takePicture() { meetNineteenOthers() }  // blocks
}

let files = OperationQueue(name: "files", width: 8)

await withTaskGroup { group in
    for _ in 0..<5 {
        // A function that blocks, in any task.
        group.addTask { await blocking { meetNineteenOthers() } }
        // A task that blocks wherever it likes.
        group.addTask(executorPreference: .operations) { meetNineteenOthers() }
        // Tasks in a queue: at most eight of them run at a time.
        group.addTask(executorPreference: files.executor) { meetNineteenOthers() }
        // An actor that blocks.
        let camera = Camera()
        group.addTask { await camera.takePicture() }
    }
}
print("20 tasks have met")
// snippet.hide

// Prints:
// 20 tasks have met
