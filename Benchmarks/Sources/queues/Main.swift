// queues compares operation queues with each other. This file defines the program's commands.

import ArgumentParser

@main
struct Queues: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queues",
        abstract: "Measures our operation queue and its peers, in turn, in one run.",
        subcommands: [Measure.self, Memory.self],
        defaultSubcommand: Measure.self)
}
