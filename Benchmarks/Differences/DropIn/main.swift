// Runs one of the programs of this folder, or prints their names: see the script `check`.

import Foundation

let programs: [(name: String, run: () -> Void)] = [
    ("defaults", defaults),
    ("names", names),
    ("states", states),
    ("starting", starting),
    ("subclasses", subclasses),
    ("overrides", overrides),
    ("blocks", blocks),
    ("dependencies", dependencies),
    ("a dependency of one that runs", dependencyOfOneThatRuns),
    ("cancelling", cancelling),
    ("completion blocks", completionBlocks),
    ("priorities", priorities),
    ("width", width),
    ("barriers", barriers),
    ("suspending", suspending),
    ("waiting", waiting),
    ("current queue", currentQueue),
    ("progress of a queue", progressOfAQueue),
    ("progress", progress),
    ("depends on itself", dependsOnItself),
    ("starts before its dependency", startsBeforeItsDependency),
    ("starts while it runs", startsWhileItRuns),
    ("is added twice", isAddedTwice),
    ("is added after its end", isAddedAfterItsEnd),
    ("gets a block after its end", getsABlockAfterItsEnd),
    ("gets a block while it runs", getsABlockWhileItRuns),
    ("has a negative width", hasANegativeWidth),
]

guard CommandLine.arguments.count > 1 else {
    for program in programs { print(program.name) }
    exit(0)
}
setvbuf(stdout, nil, _IOLBF, 0)
programs.first { $0.name == CommandLine.arguments[1] }?.run()
