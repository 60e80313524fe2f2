// Apple documents no limit to the length of a chain of dependencies. Foundation on Linux releases a
// long chain recursively, which overflows the stack.

import Foundation

var last = BlockOperation {}
for _ in 0..<100_000 {
    let next = BlockOperation {}
    next.addDependency(last)
    last = next
}
last = BlockOperation {}
print("the chain is released")

// With Foundation: crashes
// With Operations:
// the chain is released
