import Foundation

/// A small program in another language, from `Peers/`, built on demand.
///
/// The program takes a workload's name and sizes as arguments, warms up, measures once and prints
/// its figures, or `-` for a workload that it does not support.
struct ExternalPeer: Contender {
    private let program: String

    func external(_ arguments: [String]) throws -> [Double]? {
        let text = try Child.run(program, arguments)
        let fields = text.split(whereSeparator: \.isWhitespace)
        if fields == ["-"] { return nil }
        return try fields.map { field in
            guard let value = Double(field) else {
                throw Failure("\(program) wrote “\(text)” instead of figures")
            }
            return value
        }
    }

    static func tbb() throws -> ExternalPeer {
        guard let compiler = ["c++", "g++", "clang++"].lazy.compactMap(Child.find).first else {
            throw Failure("there is no C++ compiler")
        }
        return try build("tbb/main.cpp", with: "apt-get install libtbb-dev") { source, program in
            _ = try Child.run(
                compiler,
                ["-O2", "-std=c++20", "-pthread", source, "-o", program, "-ltbb"])
        }
    }

    static func go() throws -> ExternalPeer {
        guard let go = Child.find("go") else {
            throw Failure("there is no Go (apt-get install golang)")
        }
        return try build("go/main.go", with: "a newer Go") { source, program in
            // Go's cache stays inside the build folder, too.
            _ = try Child.run(
                go, ["build", "-o", program, source],
                environment: ["GOCACHE": cache.appendingPathComponent("go-cache").path])
        }
    }

    private static let package = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
        url.deletingLastPathComponent()
    }
    private static let cache = package.appendingPathComponent(".build/peers")

    /// Builds a program unless it exists and is newer than its source.
    private static func build(
        _ path: String, with remedy: String, compile: (String, String) throws -> Void
    ) throws -> ExternalPeer {
        let source = package.appendingPathComponent("Peers/\(path)")
        let name = source.deletingLastPathComponent().lastPathComponent
        let program = cache.appendingPathComponent("\(name)-peer")
        if let built = try? date(of: program), try built > date(of: source) {
            return ExternalPeer(program: program.path)
        }
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        do {
            try compile(source.path, program.path)
        } catch let failure as Failure {
            let reason = failure.description.split(separator: "\n").first ?? ""
            throw Failure("its program does not build; it may need \(remedy): \(reason)")
        }
        return ExternalPeer(program: program.path)
    }

    private static func date(of file: URL) throws -> Date {
        try file.resourceValues(forKeys: [.contentModificationDateKey])
            .contentModificationDate ?? .distantPast
    }
}
