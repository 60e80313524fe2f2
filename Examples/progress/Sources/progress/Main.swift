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
        let (interrupts, interruption) = AsyncStream.makeStream(of: Void.self)
        let source = await onInterrupt { interruption.yield() }
        let stopping = Task {
            for await _ in interrupts { stop(queue) }
        }

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
        source.cancel()
        interruption.finish()
        await stopping.value

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

    /// Lets running operations end for two seconds. If the queue was stopped before: for no longer.
    private static func stop(_ queue: OperationQueue) {
        let grace: Duration = queue.isShutDown ? .zero : .seconds(2)
        // A task of its own, so that the caller can wait for the next Ctrl-C meanwhile.
        Task { await queue.shutDown(grace: grace, cancelsWaiting: true) }
    }

    /// Calls a handler on Ctrl-C, in place of its usual effect, until the source is cancelled.
    /// Returns when that is so: no Ctrl-C is lost from then on.
    private static func onInterrupt(
        _ handler: @escaping @Sendable () -> Void
    ) async -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        source.setEventHandler(handler: handler)
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler { continuation.resume() }
            source.resume()
        }
        return source
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
