// queues: measures operation queues against each other. Here are the arguments and what goes where.

import ArgumentParser

@main
struct Queues: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queues",
        abstract: "Measures our operation queue and its peers, in turn, in one run.",
        subcommands: [Measure.self, Memory.self],
        defaultSubcommand: Measure.self)
}
