import Foundation
import PackagePlugin

/// Writes the files of the folder `Page` of a target as string literals into a Swift file.
///
/// The package manager's own way (`.embedInCode`) makes an array literal with an element for each
/// byte. The compiler takes 13 seconds for these arrays, and a moment for the strings.
@main
struct EmbedPage: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let manager = FileManager.default
        let page = target.directoryURL.appending(path: "Page")
        let files = try manager.contentsOfDirectory(at: page, includingPropertiesForKeys: nil)
            .filter { !$0.lastPathComponent.hasPrefix(".") }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
        let script = context.package.directoryURL.appending(path: "Plugins/EmbedPage/embed-page")
        let output = context.pluginWorkDirectoryURL.appending(path: "PageResources.swift")
        return [
            .buildCommand(
                displayName: "Embedding the page",
                executable: URL(filePath: "/bin/sh"),
                arguments: ([script, output] + files).map { $0.path(percentEncoded: false) },
                inputFiles: [script] + files, outputFiles: [output])
        ]
    }
}
