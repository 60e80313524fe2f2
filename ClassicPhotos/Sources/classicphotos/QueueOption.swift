import ArgumentParser
import PhotoJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The option for the queue that processes share.
struct QueueOption: ParsableArguments {
    /// The environment variable that replaces the option.
    static let variable = "CLASSICPHOTOS_QUEUE"

    static let help = ArgumentHelp(
        """
        The queue: postgres://host/database, or the path of a SQLite file for the processes of one \
        machine. Default: the environment variable CLASSICPHOTOS_QUEUE. "none" stands for no queue.
        """,
        discussion: """
            Other users of the machine can see the arguments of programs with ps. Set \
            CLASSICPHOTOS_QUEUE to a URL with a password, or write the password to ~/.pgpass.
            """,
        valueName: "url")

    @Option(help: Self.help, completion: .file())
    var queue: String?

    /// The queue that the option or the variable names; nil if there is none.
    ///
    /// - Throws: `ValidationError` if the text names no queue.
    func address() throws -> PhotoQueueAddress? { try Self.address(queue) }

    private static func address(_ queue: String?) throws -> PhotoQueueAddress? {
        let value = ProcessInfo.processInfo.environment[Self.variable]
        let text = queue ?? value.flatMap { $0.isEmpty ? nil : $0 }
        guard let text, text != "none" else { return nil }
        do {
            return try PhotoQueueAddress(text)
        } catch {
            let name = queue == nil ? Self.variable : "--queue"
            throw ValidationError("\(name) is not valid. \(error)")
        }
    }

    /// The queue of a command that needs one.
    ///
    /// - Parameter parent: the option before the name of a subcommand.
    func requiredAddress(_ parent: String? = nil) throws -> PhotoQueueAddress {
        guard let address = try Self.address(queue ?? parent) else {
            throw ValidationError(
                "This command needs a queue: --queue URL, or the environment variable "
                    + "\(Self.variable).")
        }
        return address
    }

    /// The option as a person would repeat it; the variable is not repeated.
    func repeated(_ address: PhotoQueueAddress) -> String {
        queue == nil ? "" : " --queue \(address)"
    }
}
