// snippet.hide
// Fifty tasks, each of which waits for another task at a semaphore
import Dispatch
import Operations

// snippet.show
func answer() -> Int {  // a function of some library
    let done = DispatchSemaphore(value: 0)
    Task { done.signal() }
    done.wait()
    return 42
}

let sum = await withTaskGroup(of: Int.self) { group in
    for _ in 0..<50 {
        group.addTask { await blocking { answer() } }
    }
    var sum = 0
    for await answer in group { sum += answer }
    return sum
}
print(sum)
// snippet.hide

// Prints:
// 2100
