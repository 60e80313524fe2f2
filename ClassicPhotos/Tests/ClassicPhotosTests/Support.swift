import Foundation
import OperationsTestSupport
import PhotoImaging
import Subprocess
import SystemPackage
import Testing

/// The path of the program, built together with these tests.
let programPath: String = {
    let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    return bundle.deletingLastPathComponent().appendingPathComponent("classicphotos").path
}()

let program = Executable.path(FilePath(programPath))

/// The output of the program, and its exit status.
struct Outcome {
    let code: TerminationStatus
    let output: String
    let errors: String
}

/// Runs the program and waits for its end.
func classicphotos(_ arguments: String...) async throws -> Outcome {
    try await classicphotos(arguments: arguments)
}

func classicphotos(arguments: [String]) async throws -> Outcome {
    let result = try await run(
        program, arguments: Arguments(arguments), output: .string(limit: 1 << 20),
        error: .string(limit: 1 << 20))
    return Outcome(
        code: result.terminationStatus, output: result.standardOutput,
        errors: result.standardError)
}

/// Runs a closure with a new folder, and removes the folder afterwards.
func withTemporaryFolder(
    _ body: (URL) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("photos-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
}

/// Writes different pictures into a folder.
func makePictures(
    _ count: Int, in folder: URL, side: Int = 64
) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for index in 0..<count {
        let pixels = (0..<side * side * 3).map { UInt8(truncatingIfNeeded: $0 &* (index + 1) / 7) }
        let bitmap = try Bitmap(size: PixelSize(width: side, height: side), pixels: pixels)
        let bytes = try ImageEngine.encode(bitmap, as: .jpeg, quality: 80).bytes
        try Data(bytes).write(to: folder.appendingPathComponent("photo\(index + 1).jpg"))
    }
}

/// The names of all files in a folder and its subfolders, except the program's own hidden files.
func files(below folder: URL) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { name in
        let own = [".classicphotos-results.jsonl", ".classicphotos-folder"]
        guard !own.contains(where: { name.hasSuffix($0) }) else { return false }
        var isFolder: ObjCBool = false
        let path = folder.appendingPathComponent(name).path
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
            && !isFolder.boolValue
    }.sorted()
}

/// The contents of those files.
func contents(of folder: URL) throws -> [String: Data] {
    try Dictionary(
        uniqueKeysWithValues: files(below: folder).map {
            ($0, try Data(contentsOf: folder.appendingPathComponent($0)))
        })
}

/// Waits until a queue has a number of jobs in a state.
func waitForJobs(_ count: Int, _ state: String, in queue: String) async throws {
    var list: Outcome?
    let isThere = try await eventually {
        list = try await classicphotos("jobs", "list", "--queue", queue, "--json")
        return list?.output.contains("\"\(state)\":\(count)") == true
    }
    #expect(isThere, "the queue: \(String(describing: list))")
}

/// The names of all slices of a timeline.
func sliceNames(in file: URL) throws -> [String] {
    struct Trace: Decodable {
        struct Event: Decodable {
            let ph: String
            let name: String
        }
        let traceEvents: [Event]
    }
    let trace = try JSONDecoder().decode(Trace.self, from: Data(contentsOf: file))
    return trace.traceEvents.filter { $0.ph == "X" }.map(\.name)
}
