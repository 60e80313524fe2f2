import Foundation
import OperationsTestSupport
import PhotoImaging
import RawFiles
import Subprocess
import Testing

/// The options of `classicphotos process`.
@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ProcessOptionTests {
    private func withPictures(
        _ count: Int = 3, _ body: (_ source: URL, _ results: URL) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let source = folder.appendingPathComponent("in")
            try makePictures(count, in: source)
            try await body(source, folder.appendingPathComponent("out"))
        }
    }

    // MARK: Sources

    @Test func severalSourcesAreJoined() async throws {
        try await withPictures { source, results in
            let other = source.deletingLastPathComponent().appendingPathComponent("more")
            try makePictures(1, in: other)
            let files = ["photo1.jpg", "photo2.jpg"].map { source.appendingPathComponent($0).path }
            let outcome = try await classicphotos(
                arguments: ["process"] + files + [other.path, "--out", results.path])
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            // One folder needs no name of its own; a second photo of the same name gets a number.
            #expect(
                try ClassicPhotosTests.files(below: results)
                    == ["photo1-2.jpg", "photo1.jpg", "photo2.jpg"])
        }
    }

    @Test func severalFoldersKeepTheirNames() async throws {
        try await withPictures(1) { source, results in
            let other = source.deletingLastPathComponent().appendingPathComponent("more")
            try makePictures(1, in: other)
            let outcome = try await classicphotos(
                "process", source.path, other.path, "--out", results.path)
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            #expect(try files(below: results) == ["in/photo1.jpg", "more/photo1.jpg"])
        }
    }

    @Test func patternsAndSubfoldersAreExcluded() async throws {
        try await withPictures { source, results in
            try makePictures(1, in: source.appendingPathComponent("below"))
            let first = try await classicphotos(
                "process", source.path, "--out", results.path, "--exclude", "*2.jpg")
            #expect(first.output.contains("Wrote 3 of 3 photos"))
            let flat = try await classicphotos(
                "process", source.path, "--out", results.path + "2", "--no-recursive")
            #expect(flat.output.contains("Wrote 3 of 3 photos"))
            let none = try await classicphotos(
                "process", source.path, "--out", results.path, "--exclude", "*")
            #expect(none.code == .exited(2))
            #expect(
                none.errors
                    == "Error: There is nothing to process: --exclude leaves out all photos.\n")
        }
    }

    @Test func outputOfFindIsList() async throws {
        try await withPictures { source, results in
            try FileManager.default.moveItem(
                at: source.appendingPathComponent("photo2.jpg"),
                to: source.appendingPathComponent("50% #2 ?.jpg"))
            let script = #"""
                cd "$1" && find . -name '*.jpg' > list.txt
                "$2" process list.txt --out ../out && find . -name '*.jpg' | "$2" process - -o ../piped
                """#
            let result = try await run(
                .name("sh"), arguments: ["-c", script, "sh", source.path, program.description],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            let expected = ["50% #2 ?.jpg", "photo1.jpg", "photo3.jpg"]
            #expect(try files(below: results) == expected)
            let piped = results.deletingLastPathComponent().appendingPathComponent("piped")
            #expect(try files(below: piped) == expected)
        }
    }

    @Test func linksOutOfFolderAreCountedOrFollowed() async throws {
        try await withPictures(1) { source, results in
            let best = source.deletingLastPathComponent().appendingPathComponent("best")
            try makePictures(1, in: best, side: 32)
            for (name, target) in [("link.jpg", "../in/photo1.jpg"), ("all", "../in")] {
                try FileManager.default.createSymbolicLink(
                    atPath: best.appendingPathComponent(name).path, withDestinationPath: target)
            }
            let dry = try await classicphotos(
                "process", best.path, "--dry-run", "--out", results.path)
            let sentence =
                "2 links lead out of the folder and were skipped; --follow includes them."
            #expect(dry.output.contains("Would process 1 of 1 photo. \(sentence)"))
            let outcome = try await classicphotos("process", best.path, "--out", results.path)
            #expect(outcome.output.contains(sentence))
            let followed = try await classicphotos(
                "process", best.path, "--follow", "--out", results.path + "2")
            #expect(followed.output.contains("Wrote 3 of 3 photos"))
            #expect(!followed.output.contains("--follow"))
        }
    }

    /// A name may have a line break. What `find` lists need not be photos, in any order.
    @Test func entriesOfStandardInputMayEndWithZeroBytes() async throws {
        try await withPictures { source, results in
            try FileManager.default.moveItem(
                at: source.appendingPathComponent("photo2.jpg"),
                to: source.appendingPathComponent("a\nb.jpg"))
            let script = #"cd "$1" && find . -type f -print0 | "$2" process - -0 --out ../out"#
            let result = try await run(
                .name("sh"), arguments: ["-c", script, "sh", source.path, program.description],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            #expect(try files(below: results) == ["a_b.jpg", "photo1.jpg", "photo3.jpg"])
            let misused = try await classicphotos("process", source.path, "-0", "--out", "x")
            #expect(misused.code == .exited(64))
            #expect(misused.errors.contains("-0 needs \"-\""))
        }
    }

    /// A shell's `*` names everything in a folder.
    @Test func otherFilesBesidePhotosAreSkipped() async throws {
        try await withPictures(2) { source, results in
            try Data("Dear aunt,\n".utf8).write(to: source.appendingPathComponent("a letter.txt"))
            try Data([0, 1, 2]).write(to: source.appendingPathComponent("z.mp4"))
            try Data("{}".utf8).write(to: source.appendingPathComponent("package.json"))
            try Data("raw".utf8).write(to: source.appendingPathComponent("IMG.CR3"))
            try FileManager.default.createDirectory(
                at: source.appendingPathComponent("empty"), withIntermediateDirectories: true)
            let script = #"cd "$1" && "$2" process * --out ../out"#
            let result = try await run(
                .name("sh"), arguments: ["-c", script, "sh", source.path, program.description],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
            #expect(try files(below: results) == ["photo1.jpg", "photo2.jpg"])
            let lines = result.standardError.split(separator: "\n")
            #expect(lines.count == 5, "\(lines)")
            for (name, reason) in [
                ("a letter.txt", "is not the URL of a picture"), ("z.mp4", "neither a picture nor"),
                ("package.json", "the list is empty"), ("empty", "contains no pictures"),
                ("IMG.CR3", "it is a Canon raw file (CR3), which is not read: there is no decoder"),
            ] {
                #expect(
                    lines.contains {
                        $0.hasPrefix("\(name): skipped, because ") && $0.contains(reason)
                    }, "\(name)")
            }
            // Without any photo, the first source says what is wrong.
            let none = try await classicphotos(
                "process", source.path + "/z.mp4", source.path + "/empty", "--out", results.path)
            #expect(none.code == .exited(2) && none.errors.contains("z.mp4: this is neither"))
        }
    }

    // MARK: Formats

    @Test func heicAndAVIFAreProcessed() async throws {
        try await withPictures { source, results in
            let picture = try ImageEngine.decode(
                Array(Data(contentsOf: source.appendingPathComponent("photo1.jpg"))))
            for format in [ImageFormat.heif, .avif] {
                let bytes = try ImageEngine.encode(picture, as: format).bytes
                try Data(bytes).write(
                    to: source.appendingPathComponent("phone.\(format.fileExtension)"))
            }
            let outcome = try await classicphotos("process", source.path, "--out", results.path)
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            let names = try files(below: results)
            #expect(names.contains("phone.heic") && names.contains("phone.avif"))
            let heic = Array(try Data(contentsOf: results.appendingPathComponent("phone.heic")))
            #expect(ImageFormat(detecting: heic) == .heif)
            let asJPEG = try await classicphotos(
                "process", source.path, "--out", results.path + "2", "--format", "jpg")
            #expect(asJPEG.code == .exited(0))
            #expect(asJPEG.output.contains("Wrote 5 of 5 photos"))
        }
    }

    @Test func rawFilesAreProcessedByTheirJPEGs() async throws {
        try await withPictures(1) { source, results in
            let jpeg = Array(try Data(contentsOf: source.appendingPathComponent("photo1.jpg")))
            for form in RawFileForm.allCases {
                let file = form.bytes(around: jpeg, orientation: 6)
                try Data(file).write(to: source.appendingPathComponent("\(form).\(form)"))
            }
            // A camera writes both; the JPEG keeps its name.
            try Data(RawFileForm.arw.bytes(around: jpeg)).write(
                to: source.appendingPathComponent("photo1.ARW"))
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--filter", "none")
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            let names = RawFileForm.allCases.map { "\($0).jpg" }
            #expect(
                try files(below: results) == (names + ["photo1-2.jpg", "photo1.jpg"]).sorted())
            #expect(
                outcome.output.contains(
                    "7 raw files: the JPEG in the file is small, and the raw data is not developed")
            )
            for name in names {
                let copy = Array(try Data(contentsOf: results.appendingPathComponent(name)))
                let fields = try ImageEngine.exif(of: copy)
                #expect(fields.taken == "2021-03-04T05:06:07" && fields.lens == RawFileForm.lens)
            }
            let again = try await classicphotos(
                "process", source.path, "--out", results.path, "--filter", "none")
            #expect(again.output.contains("8 were up to date"), "\(again.output)")
            let other = results.path + "2"
            let skipping = try await classicphotos(
                "process", source.path, "--out", other, "--raw", "skip")
            #expect(skipping.code == .exited(0))
            #expect(try files(below: URL(fileURLWithPath: other)) == ["photo1.jpg"])
            #expect(skipping.output.contains("7 raw files were skipped."), "\(skipping.output)")
            let none = try await classicphotos(
                "process", source.path + "/nef.nef", "--out", other, "--raw", "skip")
            #expect(none.code == .exited(2))
            #expect(none.errors.contains("--raw skip leaves out all photos"))
        }
    }

    @Test func rawFileWithoutJPEGSaysWhatToDo() async throws {
        try await withPictures(1) { source, results in
            let file = RawFileForm.nef.bytes(around: [])
            try Data(file).write(to: source.appendingPathComponent("DSC_1.NEF"))
            let outcome = try await classicphotos(
                "process", source.path + "/DSC_1.NEF", "--out", results.path)
            #expect(outcome.code == .exited(1))
            #expect(
                outcome.errors == """
                    DSC_1.NEF: The raw file contains no JPEG that shows the photo, and raw data is \
                    not developed. Export the photo as JPEG with another program.

                    """)
        }
    }

    @Test func metadataIsKeptUnlessStripped() async throws {
        try await withPictures(1) { source, results in
            let file = source.appendingPathComponent("photo1.jpg")
            var bytes = Array(try Data(contentsOf: file))
            let packet = Array("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>Holiday</x:xmpmeta>".utf8)
            bytes.insert(contentsOf: [0xFF, 0xE1, 0, UInt8(packet.count + 2)] + packet, at: 2)
            try Data(bytes).write(to: file)
            for (options, isKept) in [([], true), (["--strip"], false)] {
                let folder = results.path + "\(isKept)"
                let outcome = try await classicphotos(
                    arguments: ["process", source.path, "--out", folder] + options)
                #expect(outcome.code == .exited(0))
                let result = try Data(contentsOf: URL(fileURLWithPath: folder + "/photo1.jpg"))
                #expect((result.firstRange(of: Array("Holiday".utf8)) != nil) == isKept)
            }
            let lossy = try await classicphotos(
                "process", source.path, "--out", results.path, "--format", "gif")
            #expect(
                lossy.output.contains(
                    "\n1 picture: XMP was not kept in GIF (photo1.jpg).\nWrote 1 of 1 "))
        }
    }

    @Test func damagedPhotosAreAcceptedOnRequest() async throws {
        try await withPictures(1) { source, results in
            let file = source.appendingPathComponent("photo1.jpg")
            let bytes = try Data(contentsOf: file)
            try bytes.prefix(bytes.count * 3 / 4).write(to: file)
            let refused = try await classicphotos("process", source.path, "--out", results.path)
            #expect(refused.code == .exited(1))
            let accepted = try await classicphotos(
                "process", source.path, "--out", results.path, "--accept-damaged")
            #expect(accepted.code == .exited(0), "\(accepted.errors)")
        }
    }

    @Test func pixelLimitApplies() async throws {
        try await withPictures(1) { source, results in
            let small = try await classicphotos(
                "process", source.path, "--out", results.path, "--max-pixels", "4000")
            #expect(small.code == .exited(1))
            #expect(small.errors.contains("The picture claims 64 × 64 pixels; the limit is 4,000"))
            let large = try await classicphotos(
                "process", source.path, "--out", results.path, "--max-pixels", "0.1M")
            #expect(large.code == .exited(0))
        }
    }

    // MARK: Runs

    @Test func secondRunIsReported() async throws {
        try await withPictures { source, results in
            _ = try await classicphotos("process", source.path, "--out", results.path)
            try makePictures(4, in: source, side: 32)
            try FileManager.default.removeItem(at: source.appendingPathComponent("photo4.jpg"))
            _ = try await classicphotos("process", source.path, "--out", results.path)
            let third = try await classicphotos("process", source.path, "--out", results.path)
            #expect(third.code == .exited(0))
            #expect(third.output.hasPrefix("Wrote 0 of 3 photos to \(results.path) in "))
            #expect(
                third.output.hasSuffix(
                    ". 3 were up to date; --again processes all photos.\n"))
        }
    }

    @Test func dryRunWritesNothing() async throws {
        try await withPictures(2) { source, results in
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--dry-run")
            #expect(outcome.code == .exited(0))
            #expect(
                outcome.output == """
                    Would write \(results.path)/photo1.jpg
                    Would write \(results.path)/photo2.jpg
                    Would process 2 of 2 photos. Nothing was written.

                    """)
            #expect(!FileManager.default.fileExists(atPath: results.path))
            _ = try await classicphotos("process", source.path, "--out", results.path)
            let again = try await classicphotos(
                "process", source.path, "--out", results.path, "--dry-run")
            #expect(
                again.output == "Would process 0 of 2 photos. 2 up to date. Nothing was written.\n")
        }
    }

    @Test func recipeFileHasOptions() async throws {
        try await withPictures(1) { source, results in
            let recipe = source.deletingLastPathComponent().appendingPathComponent("r.json")
            func process(_ text: String, _ options: String...) async throws -> Outcome {
                try Data(text.utf8).write(to: recipe)
                return try await classicphotos(
                    arguments: [
                        "process", source.path, "--out", results.path, "--recipe", recipe.path,
                    ] + options)
            }
            let good = #"{"filters": ["noir"], "size": 16, "format": "jpg", "quality": 70}"#
            let first = try await process(good)
            #expect(first.code == .exited(0), "\(first.errors)")
            let file = results.appendingPathComponent("photo1.jpg")
            func size() throws -> Int {
                try ImageEngine.inspect(Array(Data(contentsOf: file))).size.width
            }
            #expect(try size() == 16)
            _ = try await process(good, "--size", "24")
            #expect(try size() == 24)
            for (text, message) in [
                (#"{"filter": ["noir"]}"#, "there is no key \"filter\". Did you mean \"filters\"?"),
                (#"{"filters": ["nor"]}"#, "There is no filter \"nor\". Did you mean noir?"),
                (#"{"size": "big"}"#, "the value of \"size\" has the wrong type."),
                (#"{"size": 0}"#, "size must be between 1 and 30000 pixels."),
                (#"{"format": "bmp"}"#, "there is no format \"bmp\"."),
                ("size: 3", "it is not JSON."),
                ("[]", "it is not a dictionary."),
                (#"{"filters": ["look=no.cube"]}"#, "no.cube: there is no such file or folder;"),
            ] {
                let outcome = try await process(text)
                #expect(outcome.code == .exited(2))
                #expect(
                    outcome.errors.contains("The recipe \(recipe.path) is not valid: \(message)"))
            }
        }
    }

    @Test func recipeMayBeYAML() async throws {
        try await withPictures(1) { source, results in
            let recipe = source.deletingLastPathComponent().appendingPathComponent("r.yaml")
            func process(_ text: String) async throws -> Outcome {
                try Data(text.utf8).write(to: recipe)
                return try await classicphotos(
                    "process", source.path, "--out", results.path, "--recipe", recipe.path)
            }
            let outcome = try await process(
                "# Small\nfilters:\n  - noir\n  - sepia=0.5\nsize: 16\nformat: png\nstrip: yes\n")
            #expect(outcome.code == .exited(0), "\(outcome.errors)")
            let file = try Data(contentsOf: results.appendingPathComponent("photo1.png"))
            #expect(try ImageEngine.inspect(Array(file)).size.width == 16)
            for (text, message) in [
                ("filter: [noir]", "there is no key \"filter\". Did you mean \"filters\"?"),
                ("size: big", "the value of \"size\" has the wrong type."),
                ("size: 3\nsize: 4", "gives size twice."),
                ("filters: [noir\nsize: 3", "it is not YAML: line 2, "),
                ("- noir", "it is not a dictionary."),
            ] {
                let outcome = try await process(text)
                #expect(outcome.code == .exited(2))
                #expect(outcome.errors.contains("The recipe \(recipe.path) is not valid: "))
                #expect(outcome.errors.contains(message), "\(outcome.errors)")
            }
        }
    }

    // MARK: Looks

    /// A look that exchanges red and blue.
    private static let exchange = """
        TITLE "Exchange"
        LUT_3D_SIZE 2
        0 0 0\n0 0 1\n0 1 0\n0 1 1\n1 0 0\n1 0 1\n1 1 0\n1 1 1
        """

    @Test func lookIsAppliedFromCommandLineAndRecipe() async throws {
        try await withPictures(1) { source, results in
            let folder = source.deletingLastPathComponent().appendingPathComponent("my looks")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let look = folder.appendingPathComponent("50%, film.cube")
            try Data(Self.exchange.utf8).write(to: look)
            let recipe = folder.appendingPathComponent("r.json")
            try Data(#"{"filters": ["look=50%, film.cube"]}"#.utf8).write(to: recipe)
            let original = try ImageEngine.decode(
                Array(Data(contentsOf: source.appendingPathComponent("photo1.jpg"))))
            let filter = ImageFilter.look(try Look(cube: Array(Self.exchange.utf8)))
            let expected = try ImageEngine.apply([filter], to: original)
            for (name, options) in [
                ("line", ["--filter", "look=\(look.path)"]), ("recipe", ["--recipe", recipe.path]),
                ("half", ["--filter", "look=intensity:0.5,\(look.path)"]),
            ] {
                let out = results.appendingPathComponent(name)
                let outcome = try await classicphotos(
                    arguments: ["process", source.path, "--out", out.path, "--format", "png"]
                        + options)
                #expect(outcome.code == .exited(0), "\(outcome.errors)")
                let file = try Data(contentsOf: out.appendingPathComponent("photo1.png"))
                let pixels = try ImageEngine.decode(Array(file)).pixels()
                #expect((pixels == expected.pixels()) == (name != "half"))
                #expect(pixels != original.pixels())
            }
        }
    }

    /// The record of results tells looks apart by their tables, not by their paths.
    @Test func changedLookIsAppliedAgain() async throws {
        try await withPictures(1) { source, results in
            let look = source.deletingLastPathComponent().appendingPathComponent("film.cube")
            func process() async throws -> String {
                try await classicphotos(
                    "process", source.path, "--out", results.path, "--filter", "look=\(look.path)"
                ).output
            }
            try Data(Self.exchange.utf8).write(to: look)
            #expect(try await process().contains("Wrote 1 of 1 photo"))
            #expect(try await process().contains("up to date"))
            let half = Self.exchange.replacing("1 1 1", with: "1 1 0.5")
            try Data(half.utf8).write(to: look)
            #expect(try await process().contains("Wrote 1 of 1 photo"))
        }
    }

    @Test func invalidLookIsReportedWithItsLine() async throws {
        try await withPictures(1) { source, results in
            let look = source.deletingLastPathComponent().appendingPathComponent("film.cube")
            try Data("LUT_3D_SIZE 2\n0 0 zero\n".utf8).write(to: look)
            func process(_ text: String) async throws -> Outcome {
                try await classicphotos(
                    "process", source.path, "--out", results.path, "--filter", text)
            }
            let invalid = try await process("look=\(look.path)")
            #expect(invalid.code == .exited(2))
            #expect(invalid.errors.contains("film.cube, line 2: a number has the form 0.25"))
            let missing = try await process("look=no.cube")
            #expect(missing.code == .exited(2))
            #expect(missing.errors.hasPrefix("Error: no.cube: there is no such file or folder;"))
            for text in ["look", "look=", "look=intensity:2,film.cube", "look=intensity:0.5"] {
                #expect(try await process(text).code == .exited(64), "\(text)")
            }
            #expect(try await classicphotos("--filter", "look=\(look.path)").code == .exited(64))
        }
    }

    @Test func jsonHasLineForEachPhoto() async throws {
        struct Line: Decodable {
            let event: String
            let name: String?
            let width: Int?
            let reason: String?
            let written: Int?
            let failed: Int?
        }
        try await withPictures(2) { source, results in
            try Data("<html>".utf8).write(to: source.appendingPathComponent("page.jpg"))
            let outcome = try await classicphotos(
                "process", source.path, "--out", results.path, "--json")
            #expect(outcome.code == .exited(1))
            #expect(outcome.errors == "")
            let lines = try outcome.output.split(separator: "\n").map {
                try JSONDecoder().decode(Line.self, from: Data($0.utf8))
            }
            #expect(lines.map(\.event).sorted() == ["end", "failed", "written", "written"])
            #expect(lines.first { $0.event == "written" }?.width == 64)
            #expect(lines.first { $0.event == "failed" }?.name == "page.jpg")
            #expect(lines.first { $0.event == "failed" }?.reason?.contains("HTML page") == true)
            #expect(lines.last?.event == "end" && lines.last?.written == 2)
        }
    }

    @Test func watchProcessesNewAndChangedPhotos() async throws {
        try await withPictures(1) { source, results in
            let result = try await run(
                program,
                arguments: ["process", source.path, "--out", results.path, "--watch"],
                input: .none, output: .sequence, error: .string(limit: 1 << 16)
            ) { execution in
                var lines: [String] = []
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    if line.hasPrefix("Watching for new") {
                        try makePictures(1, in: source.appendingPathComponent("new"))
                        try Data("<html>".utf8).write(to: source.appendingPathComponent("p.jpg"))
                    } else if line.contains("out/new/photo1.jpg") {
                        let count = lines.count { $0.contains("out/new/photo1.jpg") }
                        if count == 1 {
                            try makePictures(
                                1, in: source.appendingPathComponent("new"), side: 48)
                        } else {
                            try execution.send(signal: .interrupt)
                        }
                    }
                }
                return lines
            }
            #expect(result.terminationStatus == .exited(1), "One photo is broken.")
            let reports = result.standardError.split(separator: "\n")
            #expect(reports.count == 1 && reports[0].hasPrefix("p.jpg: "), "Reported only once.")
            let last = try #require(result.closureResult.last)
            #expect(last.hasPrefix("Wrote 3 of 4 photos to "))
            #expect(try files(below: results) == ["new/photo1.jpg", "photo1.jpg"])
        }
    }

    /// A file that is still being copied fails, is tried again when it is complete, and then is no
    /// failure of the run.
    @Test func photoThatIsCopiedDuringTheWatchIsNoFailure() async throws {
        try await withPictures(2) { source, results in
            let (first, second) = (
                source.appendingPathComponent("photo1.jpg"),
                source.appendingPathComponent("photo2.jpg")
            )
            let files = [try Data(contentsOf: first), try Data(contentsOf: second)]
            // Each state of a file comes at once: the program must not look at it in between.
            let outside = source.deletingLastPathComponent().appendingPathComponent("state")
            let set: @Sendable (Data, URL) throws -> Void = { data, file in
                try data.write(to: outside)
                #expect(rename(outside.path, file.path) == 0)
            }
            // The first is copied when the program starts, the second during the watch.
            try set(files[0].prefix(files[0].count / 2), first)
            try FileManager.default.removeItem(at: second)
            let result = try await run(
                program,
                arguments: ["process", source.path, "--out", results.path, "--watch"],
                input: .none, output: .sequence, error: .sequence
            ) { execution in
                async let reports: [String] = {
                    var reports: [String] = []
                    for try await line in execution.standardError.strings() {
                        reports.append(line)
                        if line.hasPrefix("photo2.jpg: ") { try set(files[1], second) }
                    }
                    return reports
                }()
                var lines: [String] = []
                var written: Set<String> = []
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    if line.hasPrefix("Watching for new") {
                        try set(files[0], first)
                        try set(files[1].prefix(files[1].count / 2), second)
                    }
                    for name in ["photo1", "photo2"] where line.contains("out/\(name).jpg") {
                        written.insert(name)
                    }
                    if written.count == 2 { try execution.send(signal: .interrupt) }
                }
                return (lines, try await reports)
            }
            #expect(result.terminationStatus == .exited(0))
            let (lines, reports) = result.closureResult
            #expect(reports.map { $0.prefix(12) } == ["photo1.jpg: ", "photo2.jpg: "])
            let last = try #require(lines.last)
            #expect(last.hasPrefix("Wrote 2 of 2 photos to ") && !last.contains("failed"))
        }
    }
}
