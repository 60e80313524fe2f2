import Foundation

/// A small program in another language, from `Peers/`, built on demand.
///
/// The program takes a workload's name and sizes as arguments, warms up, measures once and prints
/// its figures, or `-` for a workload that it does not support.
struct ExternalPeer: Contender {
    /// The program, and arguments before those of a workload.
    private let command: [String]

    func external(_ arguments: [String]) throws -> [Double]? {
        let text = try Child.run(command[0], command.dropFirst() + arguments)
        let fields = text.split(whereSeparator: \.isWhitespace)
        if fields == ["-"] { return nil }
        return try fields.map { field in
            guard let value = Double(field) else {
                throw Failure("\(command[0]) wrote “\(text)” instead of figures")
            }
            return value
        }
    }

    static func tbb() throws -> ExternalPeer {
        try cpp("tbb", ["-ltbb"], with: "apt-get install libtbb-dev")
    }

    static func taskflow() throws -> ExternalPeer {
        let folder = ProcessInfo.processInfo.environment["TASKFLOW"]
        return try cpp(
            "taskflow", folder.map { ["-I", $0] } ?? [],
            with: "the headers of Taskflow, in /usr/include or in the folder that TASKFLOW names")
    }

    private static func cpp(
        _ name: String, _ options: [String], with remedy: String
    ) throws -> ExternalPeer {
        guard let compiler = ["c++", "g++", "clang++"].lazy.compactMap(Child.find).first else {
            throw Failure("there is no C++ compiler")
        }
        let program = "\(name)-peer"
        let sources = ["\(name)/main.cpp", "workloads.h"]
        return try build(sources, program, with: remedy) { source, program in
            let options = ["-O2", "-std=c++20", "-pthread", source, "-o", program] + options
            _ = try Child.run(compiler, options)
        }
    }

    static func go() throws -> ExternalPeer {
        guard let go = Child.find("go") else {
            throw Failure("there is no Go (apt-get install golang)")
        }
        return try build(["go/main.go"], "go-peer", with: "a newer Go") { source, program in
            // Go's cache stays inside the build folder, too.
            _ = try Child.run(
                go, ["build", "-o", program, source],
                environment: ["GOCACHE": cache.appendingPathComponent("go-cache").path])
        }
    }

    static func java() throws -> ExternalPeer {
        guard let compiler = Child.find("javac"), let java = Child.find("java") else {
            throw Failure("there is no Java (apt-get install default-jdk-headless)")
        }
        let name = "java/Peer"
        let built = try build(["\(name).java"], "\(name).class", with: "a newer Java") {
            source, program in
            let folder = URL(fileURLWithPath: program).deletingLastPathComponent().path
            _ = try Child.run(compiler, ["-d", folder, source])
        }
        let folder = URL(fileURLWithPath: built.command[0]).deletingLastPathComponent().path
        return ExternalPeer(command: [java, "-cp", folder, "Peer"])
    }

    private static let package = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }
    private static let cache = package.appendingPathComponent(".build/peers")

    /// Builds a program from the first of its sources, unless it exists and is newer than all.
    private static func build(
        _ sources: [String], _ program: String, with remedy: String,
        compile: (String, String) throws -> Void
    ) throws -> ExternalPeer {
        let sources = sources.map { package.appendingPathComponent("Peers/\($0)") }
        let program = cache.appendingPathComponent(program)
        let peer = ExternalPeer(command: [program.path])
        if let built = try? date(of: program), try sources.allSatisfy({ try date(of: $0) < built })
        {
            return peer
        }
        try FileManager.default.createDirectory(
            at: program.deletingLastPathComponent(), withIntermediateDirectories: true)
        do {
            try compile(sources[0].path, program.path)
        } catch let failure as Failure {
            let reason = failure.description.split(separator: "\n").first ?? ""
            throw Failure("its program does not build; it may need \(remedy): \(reason)")
        }
        return peer
    }

    private static func date(of file: URL) throws -> Date {
        try file.resourceValues(forKeys: [.contentModificationDateKey])
            .contentModificationDate ?? .distantPast
    }
}
