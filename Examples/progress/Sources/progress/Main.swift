// Prints a checksum of each file in a folder, with a progress bar. Ctrl-C ends it gracefully: files
// that are being read have two seconds, the others are left out; a second Ctrl-C ends it at once.

import OperationsFoundation

@main
struct Checksums {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count <= 1 else { fail("usage: progress [folder]", status: 2) }
        let folder = URL(filePath: arguments.first ?? ".", directoryHint: .isDirectory)
        let names: [String]
        do {
            names = try files(in: folder)
        } catch {
            fail("\(folder.path): \(error.localizedDescription)")
        }

        // Without a width, as many files are read at a time as there are processors, and one more
        // for each operation that blocks because its file comes slowly.
        let queue = OperationQueue(name: "checksums")
        let signals = queue.shutDown(on: .sigint, grace: .seconds(2), cancelsWaiting: true)

        queue.progressCountsAdditions = true
        let operations = names.map { name in
            queue.add(name) { try Checksum(of: folder.appending(path: name)) }
        }
        let drawing = Task {
            var bar = ProgressBar()
            for await _ in queue.progress.fractions { bar.show(queue.progress) }
            bar.show(queue.progress)  // The loop may have been cancelled before the last fraction.
            bar.close()
        }

        await queue.finished()
        drawing.cancel()
        await drawing.value
        signals.end()

        var (count, status) = (0, EXIT_SUCCESS)
        for (name, operation) in zip(names, operations) {
            do {
                let checksum = try operation.result
                print("\(checksum) \(checksum.byteCount) \(name)")
                count += 1
            } catch is OperationCancellation {
                status = 130  // as a shell reports a program that Ctrl-C has ended
            } catch {
                warn("\(name): \(error.localizedDescription)")
                if status == EXIT_SUCCESS { status = EXIT_FAILURE }
            }
        }
        print("\(count) of \(names.count) files")
        exit(status)
    }

    /// The paths of all files in a folder and the folders in it.
    private static func files(in folder: URL) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { path in
            let keys: Set<URLResourceKey> = [.isRegularFileKey]
            let values = try folder.appending(path: path).resourceValues(forKeys: keys)
            return values.isRegularFile == true
        }
        .sorted()
    }

    private static func warn(_ message: String) {
        FileHandle.standardError.write(Data("\(message)\n".utf8))
    }

    private static func fail(_ message: String, status: Int32 = EXIT_FAILURE) -> Never {
        warn(message)
        exit(status)
    }
}
