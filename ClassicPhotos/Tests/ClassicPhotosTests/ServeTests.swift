import DemoOrigin
import Foundation
import HTTPTestClient
import NIOHTTP1
import OperationsTestSupport
import Subprocess
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(15)))
struct ServeTests {
    /// Runs `serve`, calls a closure once the server listens, and interrupts the program.
    ///
    /// - Parameter cache: the folder above the program's cache; by default one that cannot exist.
    private func serving(
        _ arguments: [String], on port: [String] = ["--port", "0"], cache: String = "/dev/null",
        _ body: @escaping @Sendable (_ port: Int, _ line: String) async throws -> Void
    ) async throws -> TerminationStatus {
        let result = try await run(
            program, arguments: Arguments(["serve"] + port + arguments),
            environment: .inherit.updating(["XDG_CACHE_HOME": cache]),
            input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await line in execution.standardOutput.strings() {
                guard let range = line.range(of: "http://localhost:") else { continue }
                let port = Int(line[range.upperBound...].prefix { $0.isNumber }) ?? 0
                do {
                    try await body(port, line)
                } catch {
                    try execution.send(signal: .kill)
                    throw error
                }
                try execution.send(signal: .interrupt)
            }
        }
        return result.terminationStatus
    }

    private func get(_ url: String) async throws -> String {
        try await TestClient.send(url).text
    }

    /// The header with the token of the address in a line that the program printed.
    private func token(in line: String) throws -> HTTPHeaders {
        let match = try #require(line.firstMatch(of: /\?token=([0-9a-f]{32})\s/), "\(line)")
        return ["Authorization": "Bearer \(match.1)"]
    }

    @Test func serveWithoutSourceShowsDemo() async throws {
        let status = try await serving([]) { port, line in
            #expect(line.hasPrefix("240 photos are at http://localhost:\(port)/"))
            let page = try await get("http://localhost:\(port)/")
            #expect(page.contains("<!doctype html>"))
            let list = try await get("http://localhost:\(port)/api/photos?limit=1")
            #expect(list.contains("\"total\":240"))
        }
        #expect(status == .exited(0))
    }

    @Test func takenPortLeadsToTheNextOne() async throws {
        let status = try await serving(["--count", "3"], on: []) { first, _ in
            let status = try await serving(["--count", "3"], on: []) { second, _ in
                #expect(first < second && (8_080..<8_100).contains(second))
            }
            #expect(status == .exited(0))
        }
        #expect(status == .exited(0))
    }

    @Test func countIsLengthOfDemo() async throws {
        let status = try await serving(["--count", "7"]) { port, line in
            #expect(line.hasPrefix("7 photos are at http://localhost:\(port)/"))
        }
        #expect(status == .exited(0))
        for count in ["0", "100001", "many"] {
            let outcome = try await classicphotos("serve", "--count", count)
            #expect(outcome.code == .exited(64))
            #expect(outcome.errors.contains("--count"))
        }
    }

    @Test func otherMachinesNeedTokenOfPrintedAddress() async throws {
        let result = try await run(
            program, arguments: ["serve", "--port", "0", "--host", "0.0.0.0", "--count", "3"],
            input: .none, output: .sequence, error: .discarded
        ) { execution in
            for try await line in execution.standardOutput.strings() {
                guard let match = line.firstMatch(of: /:(\d+)\/\?token=([0-9a-f]{32})\s/) else {
                    continue
                }
                let url = "http://localhost:\(match.1)"
                let refused = try await get(url + "/api/photos")
                #expect(refused.hasPrefix("Open the address that the program printed"))
                #expect(try await get(url + "/health") == "ok\n")
                try execution.send(signal: .interrupt)
            }
        }
        #expect(result.terminationStatus == .exited(0))
    }

    /// The program may be missing a reader for the address, if `qrencode` ends at once.
    @Test(arguments: [("sed 's/^/CODE /'", true), ("exit 1", false)])
    func terminalShowsCodeOfAddress(script: String, isShown: Bool) async throws {
        try await withTemporaryFolder { folder in
            let qrencode = folder.appending(path: "qrencode")
            try Data("#!/bin/sh\n: > \"$0.ran\"\n\(script)\n".utf8).write(to: qrencode)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: qrencode.path)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            // The program `script` gives another one a terminal.
            let command = "'\(programPath)' serve --host 0.0.0.0 --port 0 --count 3"
            _ = try await run(
                .name("script"), arguments: ["-qec", command, "/dev/null"],
                environment: .inherit.updating(["PATH": "\(folder.path):\(path)"]),
                input: .none, output: .sequence, error: .discarded
            ) { execution in
                var port: Substring?
                for try await line in execution.standardOutput.strings() {
                    if let match = line.firstMatch(of: /^\d+ photos are at http.*:(\d+)\//) {
                        port = match.1
                    }
                    let isLast = line.contains(isShown ? "CODE http" : "Everybody who knows")
                    guard isLast, let port else { continue }
                    let mark = qrencode.path + ".ran"
                    #expect(await comesTrue { FileManager.default.fileExists(atPath: mark) })
                    #expect(try await get("http://localhost:\(port)/health") == "ok\n")
                    try execution.send(signal: .kill)
                }
            }
        }
    }

    /// An open page keeps a connection open; the program must still end.
    @Test func ctrlCStopsServerWhilePageIsOpen() async throws {
        let page = String(repeating: "ab", count: 16)
        try await withThrowingTaskGroup { group in
            let (isOpen, urls) = (Signal(), AsyncStream<String>.makeStream())
            group.addTask {
                guard let url = await urls.stream.first(where: { _ in true }) else { return }
                // Reads until the program ends.
                try? await TestClient.withResponse(to: url) { response in
                    var events = response.body.makeAsyncIterator()
                    let first = try await events.next() ?? []
                    #expect(first.starts(with: "event: hello".utf8))
                    isOpen.send()
                    while try await events.next() != nil {}
                }
            }
            let status = try await serving([]) { port, _ in
                urls.continuation.yield("http://localhost:\(port)/api/events?page=\(page)")
                #expect(await isOpen.arrives())
            }
            #expect(status == .exited(0))
            urls.continuation.finish()
            try await group.waitForAll()
        }
    }

    @Test func folderIsServed() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(3, in: folder)
            let status = try await serving([folder.path, "--filter", "noir"]) { port, line in
                #expect(line.hasPrefix("3 photos are at "))
                let list = try await TestClient.send(
                    "http://localhost:\(port)/api/photos", headers: token(in: line)
                ).text
                #expect(list.contains("photo1.jpg") && list.contains("noir"))
            }
            #expect(status == .exited(0))
        }
    }

    @Test func rawFilesAreShownOrSkipped() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(1, in: folder)
            try Data([0]).write(to: folder.appendingPathComponent("photo1.NEF"))
            for skips in [false, true] {
                let options = skips ? ["--raw", "skip"] : []
                let start = skips ? "1 photo is at " : "2 photos are at "
                let status = try await serving([folder.path] + options) { _, line in
                    #expect(line.hasPrefix(start), "\(line)")
                }
                #expect(status == .exited(0))
            }
        }
    }

    @Test func emptyFolderWaitsForItsFirstPhoto() async throws {
        try await withTemporaryFolder { folder in
            let status = try await serving([folder.path]) { port, line in
                #expect(line.hasPrefix("0 photos are at "))
                let fields = try token(in: line)
                try makePictures(1, in: folder)
                var list = ""
                let isThere = try await eventually {
                    list = try await TestClient.send(
                        "http://localhost:\(port)/api/photos", headers: fields
                    ).text
                    return list.contains("photo1.jpg")
                }
                #expect(isThere, "\(list)")
            }
            #expect(status == .exited(0))
        }
    }

    /// Another user of this machine can connect, too, and may not read the folder.
    @Test func ownPhotosNeedTokenOfPrintedAddress() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(1, in: folder)
            let list = folder.appending(path: "list.txt")
            try Data("photo1.jpg\n".utf8).write(to: list)
            for source in [folder, list, folder.appending(path: "photo1.jpg")] {
                let status = try await serving([source.path]) { port, line in
                    let url = "http://localhost:\(port)"
                    for path in ["/", "/api/photos", "/api/photos/0/original", "/metrics"] {
                        #expect(try await TestClient.send(url + path).status == 401)
                    }
                    let fields = try token(in: line)
                    let reply = try await TestClient.send(
                        url + "/api/photos/0/original", headers: fields)
                    #expect(reply.status == 200)
                }
                #expect(status == .exited(0))
            }
        }
    }

    @Test func originIsPrintedAndAccepted() async throws {
        try await withTemporaryFolder { folder in
            try makePictures(1, in: folder)
            let result = try await run(
                program,
                arguments: [
                    "serve", folder.path, "--port", "0", "--origin", "https://photos.example.org",
                    "--no-index",
                ],
                input: .none, output: .sequence, error: .discarded
            ) { execution in
                for try await line in execution.standardOutput.strings() {
                    guard line.contains("1 photo is at") else { continue }
                    #expect(
                        line.firstMatch(
                            of: #/at https://photos\.example\.org/\?token=[0-9a-f]{32} /#) != nil)
                    try execution.send(signal: .interrupt)
                }
            }
            #expect(result.terminationStatus == .exited(0))
            let wrong = try await classicphotos("serve", "--origin", "photos.example.org")
            #expect(wrong.code == .exited(64) && wrong.errors.contains("is not an origin"))
        }
    }

    @Test func cachedDownloadSurvivesARestart() async throws {
        try await withTemporaryFolder { folder in
            try await withDemoOrigin(.quick) { origin in
                let list = folder.appending(path: "list.txt")
                try Data("\(origin.url(for: .none))\n".utf8).write(to: list)
                let cache = folder.appending(path: "new/cache").path
                for _ in 0..<2 {
                    let status = try await serving(
                        [list.path, "--allow-host", "127.0.0.1", "--cache", cache]
                    ) { port, line in
                        let photo = "http://localhost:\(port)/api/photos/0/original"
                        let bytes = try await TestClient.send(
                            photo, headers: token(in: line)
                        ).body
                        #expect(bytes.starts(with: [0xFF, 0xD8]))
                    }
                    #expect(status == .exited(0))
                }
                #expect(origin.requestCount(for: DemoFault.none.path) == 1)
            }
        }
    }

    /// Programs after this one read no headers again, unless a person does not want that.
    @Test(arguments: [true, false])
    func indexIsKeptInTheCache(isWanted: Bool) async throws {
        try await withTemporaryFolder { folder in
            let (photos, cache) = (folder.appending(path: "in"), folder.appending(path: "cache"))
            try makePictures(3, in: photos)
            for name in try files(below: photos) {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                    ofItemAtPath: photos.appending(path: name).path)
            }
            let options = isWanted ? [] : ["--no-index"]
            let status = try await serving([photos.path] + options, cache: cache.path) {
                port, line in
                // The answer waits for the headers.
                let reply = try await TestClient.send(
                    "http://localhost:\(port)/api/order?sort=date", headers: token(in: line))
                #expect(reply.status == 200)
            }
            #expect(status == .exited(0))
            let file = cache.appending(path: "classicphotos/photos.index")
            let bytes = (try? Data(contentsOf: file)) ?? Data()
            // The head, and three records of more than 60 bytes.
            #expect(isWanted ? bytes.count > 16 + 3 * 60 : bytes.isEmpty)
        }
    }

    /// Every page has its own queues.
    @Test func timelineIsWrittenAtExit() async throws {
        try await withTemporaryFolder { folder in
            let (source, file) = (
                folder.appendingPathComponent("in"), folder.appendingPathComponent("run.json")
            )
            try makePictures(2, in: source)
            let page = String(repeating: "cd", count: 16)
            let status = try await serving([source.path, "--timeline", file.path]) { port, line in
                try await TestClient.withResponse(
                    to: "http://localhost:\(port)/api/events?page=\(page)",
                    headers: token(in: line)
                ) { _ in }
            }
            #expect(status == .exited(0))
            let trace = try String(contentsOf: file, encoding: .utf8)
            #expect(trace.contains("queue 'Download queue'"))
            #expect(trace.contains("queue 'Image Filtration queue'"))
        }
    }

    @Test func portInUseErrorNamesFlag() async throws {
        _ = try await serving([]) { port, _ in
            let second = try await classicphotos("serve", "--port", "\(port)")
            #expect(second.code == .exited(2))
            #expect(
                second.errors
                    == "Error: Port \(port) is in use by another program. Choose another port with "
                    + "--port, or use --port 0 for any free port.\n")
        }
    }
}
