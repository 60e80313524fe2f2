import DemoOrigin
import Foundation
import OperationsTestSupport
import PhotoImaging
import Subprocess
import Testing

/// The output and the files of `classicphotos process`.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ProcessTests {
    @Test func everyPhotoIsWrittenAndReported() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            try makePictures(12, in: source)
            let outcome = try await classicphotos(
                "process", source.path, "--filter", "sepia=0.8", "--size", "32", "--out",
                results.path)
            #expect(outcome.code == .exited(0))
            #expect(outcome.errors == "")
            let lines = outcome.output.split(separator: "\n")
            #expect(lines.count == 13)
            #expect(lines[0].hasPrefix("[1/12] \(results.path)/photo"))
            #expect(lines[12].hasPrefix("Wrote 12 of 12 photos to \(results.path) in "))
            #expect(try files(below: results).count == 12)
            let first = Array(try Data(contentsOf: results.appendingPathComponent("photo1.jpg")))
            #expect(try ImageEngine.inspect(first).size == PixelSize(width: 32, height: 32))
        }
    }

    @Test func brokenPhotosAreReportedWithExitCode1() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            try makePictures(3, in: source)
            try Data("<html>".utf8).write(to: source.appendingPathComponent("page.jpg"))
            try Data().write(to: source.appendingPathComponent("empty.png"))
            try Data("hello".utf8).write(to: source.appendingPathComponent("notes.txt"))
            let outcome = try await classicphotos("process", source.path, "--out", results.path)
            #expect(outcome.code == .exited(1))
            #expect(outcome.errors.contains("page.jpg: "))
            #expect(outcome.errors.contains("HTML page"))
            #expect(outcome.errors.contains("empty.png: The file is empty."))
            #expect(outcome.output.contains("Wrote 3 of 5 photos to "))
            #expect(outcome.output.contains("2 failed; the reasons are above."))
            #expect(outcome.output.contains("1 file is not a picture and was skipped."))
            #expect(try files(below: results) == ["photo1.jpg", "photo2.jpg", "photo3.jpg"])
        }
    }

    @Test func missingSourceExitsWithMessage() async throws {
        let outcome = try await classicphotos("process", "/nowhere/at/all", "--out", "/tmp")
        #expect(outcome.code == .exited(2))
        #expect(
            outcome.errors
                == "Error: /nowhere/at/all: there is no such file or folder; check the name\n")
        #expect(outcome.output == "")
    }

    @Test func localPhotosNeedAllowHost() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let list = folder.appendingPathComponent("photos.txt")
                try Data("\(origin.url(for: .none))\n".utf8).write(to: list)
                let results = folder.appendingPathComponent("out")
                let refused = try await classicphotos("process", list.path, "--out", results.path)
                #expect(refused.code == .exited(1))
                #expect(
                    refused.errors.contains(
                        "127.0.0.1 is a loopback address. Downloads from such addresses are blocked "
                            + "by default. Use --allow-host 127.0.0.1:\(origin.port) to allow this "
                            + "host."))
                #expect(origin.requestCount(for: "/faults/none.jpg") == 0)
                let allowed = try await classicphotos(
                    "process", list.path, "--out", results.path, "--allow-host",
                    "127.0.0.1:\(origin.port)")
                #expect(allowed.code == .exited(0), "\(allowed.errors)")
                #expect(try files(below: results) == ["none.jpg"])
            }
        }
    }

    @Test func localListNeedsAllowHost() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let refused = try await classicphotos(
                    "process", origin.propertyListURL, "--out", folder.path)
                #expect(refused.code == .exited(2))
                #expect(
                    refused.errors.contains(
                        "Use --allow-host 127.0.0.1:\(origin.port) to allow this host."))
            }
        }
    }

    @Test func syntaxErrorInListNamesLine() async throws {
        try await withTemporaryFolder { folder in
            let list = folder.appendingPathComponent("photos.json")
            try Data("{\n  \"a\": \"https://example.org/a.jpg\",\n  oops\n}".utf8).write(to: list)
            let results = folder.appendingPathComponent("out")
            let outcome = try await classicphotos("process", list.path, "--out", results.path)
            #expect(outcome.code == .exited(2))
            #expect(outcome.errors.contains("photos.json, line 3: "))
            #expect(
                !FileManager.default.fileExists(atPath: results.path),
                "The program must not start any work.")
        }
    }

    @Test(arguments: [
        (
            ["--filter", "spia"],
            "There is no filter \"spia\". Did you mean sepia? Available filters: sepia,"
        ),
        (["--filter", "sepia=3"], "intensity of sepia must be 0 to 1, not 3."),
        (["--size", "0"], "--size must be between 1 and 30000 pixels."),
        (["--quality", "101"], "--quality must be between 1 and 100."),
        (["--filter", "none", "--filter", "noir"], "--filter none cannot be combined with"),
        (
            ["--filter", "sepia="],
            "A value is missing: intensity of sepia must be 0 to 1, as in sepia=intensity:0.8."
        ),
        (["--filter", "noir,sepia"], "To apply several, repeat --filter."),
        (["--format", "jpgg"], "'jpgg' is invalid"),
        (["--jobs", "0"], "--jobs must be between 1 and 256."),
        (["--downloads", "65"], "--downloads must be between 1 and 64."),
        (["--allow-format", "png"], "'png' is invalid for '--allow-format"),
        (["--max-pixels", "big"], "'big' is invalid"),
        (["--watch", "--dry-run"], "--watch cannot be combined with --dry-run."),
        (["-", "-"], "can be given only once."),
        (["--timeline", ""], "--timeline must name a file."),
        (["--allow-host", "http://nas.local"], "is neither a host nor host:port, as in nas.local"),
    ])
    func invalidOptionsAreExplained(options: [String], message: String) async throws {
        let result = try await run(
            program, arguments: Arguments(["process", "x", "--out", "y"] + options),
            output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
        #expect(result.terminationStatus == .exited(64))
        #expect(result.standardError.contains(message))
    }

    @Test func timelineHasEveryStageOfEveryPhoto() async throws {
        try await withTemporaryFolder { folder in
            let (source, file) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("run.json")
            )
            try makePictures(3, in: source)
            try Data("<html>".utf8).write(to: source.appendingPathComponent("page.jpg"))
            let outcome = try await classicphotos(
                "process", source.path, "--out", folder.appendingPathComponent("out").path,
                "--filter", "sepia=0.8", "--timeline", file.path)
            #expect(outcome.code == .exited(1), "One photo is broken.")
            #expect(
                outcome.output.hasSuffix(
                    "The timeline is in \(file.path). Open it at ui.perfetto.dev.\n"))
            let names = try sliceNames(in: file)
            // The broken photo has no valid header, so it is not decoded.
            for name in ["Decode, filter, encode", "Write"] {
                #expect(names.filter { $0 == name }.count == 3, "\(name)")
            }
            #expect(names.filter { $0.hasPrefix("Download ") }.count == 4)
        }
    }

    @Test(arguments: ["nowhere/run.json", "."])
    func unwritableTimelineStopsBeforeWork(path: String) async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            try makePictures(1, in: source)
            let file = "\(folder.path)/\(path)"
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--timeline", file)
            #expect(outcome.code == .exited(2))
            #expect(
                outcome.errors.hasPrefix("Error: the timeline could not be written to '\(file)': "))
            #expect(outcome.output == "")
            #expect(try files(below: results) == [])
        }
    }

    @Test func originalsAreNeverReplaced() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(2, in: folder)
            let before = try Data(contentsOf: folder.appendingPathComponent("photo1.jpg"))
            let outcome = try await classicphotos("process", folder.path, "--out", folder.path)
            #expect(outcome.code == .exited(2))
            #expect(outcome.errors.contains("contains originals: \"photo1.jpg\" and 1 more."))
            #expect(try Data(contentsOf: folder.appendingPathComponent("photo1.jpg")) == before)
        }
    }

    @Test func originalsInResultsFolderAreNeverReplaced() async throws {
        try await withTemporaryFolder { folder in
            let below = folder.appendingPathComponent("below")
            try makePictures(2, in: folder)
            try makePictures(2, in: below, side: 32)
            let original = below.appendingPathComponent("photo1.jpg")
            let before = try Data(contentsOf: original)
            for options in [[], ["--overwrite"]] {
                let outcome = try await classicphotos(
                    arguments: ["process", folder.path, "--out", below.path] + options)
                #expect(outcome.code == .exited(2))
                #expect(
                    outcome.errors.contains("contains originals: \"below/photo1.jpg\" and 1 more."))
            }
            #expect(try Data(contentsOf: original) == before)
        }
    }

    @Test func otherFilesAreReplacedOnlyWithOverwrite() async throws {
        try await withTemporaryFolder { folder in
            let (source, results) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("out")
            )
            try makePictures(2, in: source)
            try makePictures(1, in: results, side: 32)
            let file = results.appendingPathComponent("photo1.jpg")
            let before = try Data(contentsOf: file)
            let refused = try await classicphotos("process", source.path, "--out", results.path)
            #expect(refused.code == .exited(1))
            #expect(refused.errors.contains("photo1.jpg exists, but is not a result of this photo"))
            #expect(refused.output.contains("Wrote 1 of 2 photos to "))
            #expect(try Data(contentsOf: file) == before)
            let forced = try await classicphotos(
                "process", source.path, "--out", results.path, "--overwrite")
            #expect(forced.code == .exited(0))
            #expect(try Data(contentsOf: file) != before)
            let again = try await classicphotos(
                "process", source.path, "--out", results.path, "--again")
            #expect(again.code == .exited(0), "Now the files are results of the same photos.")
        }
    }

    @Test func resultsInsideSourceAreSkipped() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(2, in: folder)
            let results = folder.appendingPathComponent("out").path
            let notes = ["Results there are not processed", "Skipping 2 results of earlier runs."]
            for note in notes {
                let outcome = try await classicphotos(
                    "process", folder.path, "--out", results, "--again")
                #expect(outcome.output.contains("Wrote 2 of 2 photos to "))
                #expect(outcome.errors.contains("out is inside the source. \(note)"))
            }
            #expect(try files(below: folder).count == 4)
        }
    }

    @Test func nonUTF8NamesAreProcessedAndShownEscaped() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(1, in: folder)
            // Swift strings cannot represent such file names, but a shell can.
            let script = #"""
                set -e
                cd "$1"
                folder=$(printf 'caf\351') name=$(printf 'ol\351.jpg')
                mkdir "$folder"
                mv photo1.jpg "$folder/$name"
                "$2" process . --out results
                cmp "results/$folder/$name" "results/$folder/$name"
                # The source folder and the results folder as arguments.
                "$2" process "$folder" --out="$(printf 'r\351sultats')"
                cd "$(printf 'r\351sultats')"
                test -s "$name"
                """#
            let result = try await run(
                .name("sh"),
                arguments: ["-c", script, "sh", folder.path, program.description],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            #expect(result.standardOutput.contains(#"[1/1] results/caf\xE9/ol\xE9.jpg"#))
            #expect(result.standardOutput.contains(#"[1/1] r\xE9sultats/ol\xE9.jpg"#))
        }
    }

    @Test func unsupportedFormatsAreReported() async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appendingPathComponent("in")
            try makePictures(1, in: source)
            for name in ["IMG_1.CR3", "IMG_2.x3f", "scan.bmp"] {
                try Data([0]).write(to: source.appendingPathComponent(name))
            }
            let outcome = try await classicphotos(
                "process", source.path, "--out", folder.appendingPathComponent("out").path)
            #expect(outcome.code == .exited(0))
            #expect(
                outcome.errors == """
                    scan.bmp: skipped, because it is a BMP picture, which is not read: its decoder \
                    is not safe with damaged or malicious files.
                    IMG_1.CR3: skipped, because it is a Canon raw file (CR3), which is not read: \
                    there is no decoder for it; export it as JPEG.
                    IMG_2.x3f: skipped, because it is a camera's raw file of this kind, which is not \
                    read: there is no decoder for it; export it as JPEG.

                    """)
        }
    }

    @Test(arguments: [["process", "in", "--out", "out"], ["--help"], ["--version"]])
    func lostOutputIsAnError(arguments: [String]) async throws {
        try await withTemporaryFolder { folder in
            try makePictures(2, in: folder.appendingPathComponent("in"))
            let command = #"cd "$1" && shift && exec "$@" > /dev/full"#
            let result = try await run(
                .name("sh"),
                arguments: Arguments(
                    ["-c", command, "sh", folder.path, program.description] + arguments),
                output: .discarded, error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(1))
            #expect(
                result.standardError
                    == "Error: the output cannot be written: No space left on device.\n")
            if arguments[0] == "process" {
                let results = folder.appendingPathComponent("out")
                #expect(try files(below: results) == ["photo1.jpg", "photo2.jpg"])
            }
        }
    }

    @Test func closedOutputDoesNotCorruptFiles() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(3, in: folder.appendingPathComponent("in"))
            let command = #"cd "$1" && exec "$2" process in --out out >&- 2>&-"#
            let result = try await run(
                .name("sh"), arguments: ["-c", command, "sh", folder.path, program.description],
                output: .discarded, error: .discarded)
            #expect(result.terminationStatus == .exited(1))
            let results = folder.appendingPathComponent("out")
            for name in try files(below: results) {
                let data = try Data(contentsOf: results.appendingPathComponent(name))
                _ = try ImageEngine.decode(Array(data))
            }
            #expect(try files(below: results).count == 3)
        }
    }

    @Test func redirectedListResolvesAgainstFinalURL() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let results = folder.appendingPathComponent("out")
                let outcome = try await classicphotos(
                    "process", origin.url(for: .movedList), "--out", results.path, "--allow-host",
                    "127.0.0.1")
                #expect(outcome.code == .exited(0), "\(outcome.errors)")
                #expect(try files(below: results) == ["none.jpg"])
            }
        }
    }

    @Test func unwritableFolderStopsBeforeDownload() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let file = folder.appendingPathComponent("file")
                try Data().write(to: file)
                let outcome = try await classicphotos(
                    "process", origin.url(for: .movedList), "--out", file.path + "/out")
                #expect(outcome.code == .exited(2))
                #expect(outcome.errors.contains("cannot be written: Not a directory"))
                #expect(origin.requestCount(for: "/faults/moved-list") == 0)
            }
        }
    }

    /// A list of photos on the disk, followed by photos on a server that never responds, so that
    /// the program is still running when a test stops it.
    private func endlessList(
        _ count: Int, in folder: URL, _ origin: DemoOriginServer
    ) throws -> String {
        try makePictures(count, in: folder, side: 128)
        let photos = (1...count).map { "photo\($0).jpg" }
        let never = Array(repeating: origin.url(for: .neverAnswers), count: 20)
        let list = folder.appendingPathComponent("photos.txt")
        try Data((photos + never).joined(separator: "\n").utf8).write(to: list)
        return list.path
    }

    @Test func killLeavesNoBrokenFile() async throws {
        try await withTemporaryFolder { folder in
            let results = folder.appendingPathComponent("out")
            try await withDemoOrigin(.quick) { origin in
                let list = try endlessList(100, in: folder.appendingPathComponent("in"), origin)
                let result = try await run(
                    program,
                    arguments: [
                        "process", list, "--out", results.path, "--allow-host", "127.0.0.1",
                    ],
                    input: .none, output: .sequence, error: .discarded
                ) { execution in
                    for try await line in execution.standardOutput.strings()
                    where line.hasPrefix("[20/") {
                        try execution.send(signal: .kill)
                    }
                }
                #expect(result.terminationStatus == .signaled(9))
            }
            // Partial files have their own suffix.
            let names = try files(below: results).filter {
                !$0.hasSuffix(".classicphotos-partial")
            }
            #expect(names.count >= 20)
            for name in names {
                let data = try Data(contentsOf: results.appendingPathComponent(name))
                #expect(name.hasPrefix("photo"))
                _ = try ImageEngine.decode(Array(data))
            }
        }
    }

    @Test func ctrlCStopsCleanlyWithAdvice() async throws {
        try await withTemporaryFolder { folder in
            let results = folder.appendingPathComponent("out")
            try await withDemoOrigin(.quick) { origin in
                let list = try endlessList(30, in: folder.appendingPathComponent("in"), origin)
                let result = try await run(
                    program,
                    arguments: [
                        "process", list, "--out", results.path, "--allow-host", "127.0.0.1",
                    ],
                    input: .none, output: .sequence, error: .discarded
                ) { execution in
                    var last = ""
                    for try await line in execution.standardOutput.strings() {
                        if line.hasPrefix("[10/") { try execution.send(signal: .interrupt) }
                        last = line
                    }
                    return last
                }
                #expect(result.terminationStatus == .exited(130))
                let last = result.closureResult
                #expect(
                    last.contains("Interrupted. Run the same command to process the other photos."))
            }
        }
    }
}
