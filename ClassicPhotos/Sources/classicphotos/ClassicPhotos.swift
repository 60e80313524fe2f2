// classicphotos is the program. `serve` shows a list of photos as a web page; `process` writes a
// filtered copy of each photo into a folder; `work` and `jobs` share that work between processes;
// `filters` lists the filters. This module contains arguments, progress and exit codes;
// PhotoLibrary and PhotoJobs do all the work.

import ArgumentParser
@_spi(ClassicPhotos) import PhotoImaging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@main
struct ClassicPhotos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "classicphotos",
        abstract: "Downloads, decodes and filters lists of photos.",
        discussion: """
            A SOURCE is a folder of pictures, one picture, or a list of pictures. It can be a path \
            or an http(s) URL.

            A list is a property list, a JSON file or a text file. A property list and a JSON file \
            contain a dictionary from names to URLs, an array of {name, url}, or an array of URLs. \
            A text file contains one URL or path per line.

            Pictures may be JPEG, PNG, WebP, GIF, TIFF, HEIC or AVIF. Of cameras' raw files that \
            are built like TIFF (NEF, CR2, DNG, ARW, ORF, RW2 and the like), the largest JPEG is \
            read.

            \(ExitCodes.description)

            To complete arguments in a shell: classicphotos --generate-completion-script bash (or \
            zsh, fish).
            """,
        version: version,
        subcommands: [Serve.self, Process.self, Work.self, Jobs.self, Filters.self],
        defaultSubcommand: Serve.self)

    static func main() async {
        StandardOutput.prepare()
        ImageEngine.dropDecoderMessages()
        if let message = misspelledCommand() {
            Terminal.writeError("Error: \(message)\n")
            finish(ExitCodes.usage)
        }
        await main(nil)
    }

    /// A message for a first argument that is probably a misspelled command.
    ///
    /// Without this check, the argument would be a source for `serve`, and the message would be
    /// about its other arguments.
    private static func misspelledCommand() -> String? {
        let commands = configuration.subcommands.map { $0._commandName }
        guard let argument = CommandLine.arguments.dropFirst().first, !argument.hasPrefix("-"),
            !commands.contains(argument), argument != "help",
            argument.allSatisfy({ $0.isLetter || $0 == "-" }), access(argument, F_OK) != 0,
            let guess = closestName(to: argument, in: commands)
        else { return nil }
        return "There is no command and no file named \"\(argument)\". "
            + "Did you mean \"classicphotos \(guess)\"?"
    }
}

/// The exit codes of all commands.
enum ExitCodes {
    /// Something could not be done, but other work was done.
    static let failure: Int32 = 1
    /// The work could not start.
    static let notStarted: Int32 = 2
    /// The arguments are not valid (EX_USAGE).
    static let usage: Int32 = 64
    /// The work was interrupted (128 + SIGINT).
    static let interrupted: Int32 = 130

    static let description = """
        Exit codes of all commands: 0 if everything was done, or if Ctrl-C ended a server, a \
        worker or a watch; 1 if a photo, the timeline or the output could not be written; 2 if the \
        work could not start, for example because a source, the results folder or the port is not \
        available; \
        64 if the arguments are not valid; 130 if Ctrl-C stopped the work before its end.
        """
}

/// Ends the program. A command has a method `exit` of its own.
private func finish(_ code: Int32) -> Never { exit(code) }
