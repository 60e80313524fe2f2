// classicphotos is the program. `serve` shows a list of photos as a web page; `process` writes a
// filtered copy of each photo into a folder. This module contains arguments, progress and exit
// codes; PhotoPipeline does all the work.

import ArgumentParser

@main
struct ClassicPhotos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "classicphotos",
        abstract: "Downloads, decodes and filters lists of photos.",
        discussion: """
            A SOURCE is a folder of pictures, one picture, or a list of them: a property list or \
            JSON (name → URL, or an array of {name, url}), or a text file with one URL per \
            line. Specify it as a path or an http(s) URL.
            """,
        version: "0.1.0",
        subcommands: [Serve.self, Process.self],
        defaultSubcommand: Serve.self)

    static func main() async {
        StandardOutput.prepare()
        await main(nil)
    }
}
