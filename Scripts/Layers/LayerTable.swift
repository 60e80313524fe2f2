import Foundation

/// The table in the file `Scripts/layers`: which files belong to which layer, and which layer may
/// name which others.
struct LayerTable {
    /// The layer of each folder, and of each file that is listed by itself.
    private var layers: [String: String] = [:]
    private var allowed: [String: Set<String>] = [:]
    /// The modules and files that may import a module.
    private var importers: [String: Set<String>] = [:]
    private var exceptions: Set<Exception> = []
    private let root: String

    /// A name that a folder uses although its layer may not.
    private struct Exception: Hashable {
        var from: String
        var to: String
        var name: String
    }

    init(at path: String, for root: String) throws {
        self.root = root
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if line.hasPrefix("#") || parts.isEmpty { continue }
            let words = parts[0].split(separator: " ").map(String.init)
            let list = parts.dropFirst().joined().split(separator: " ").map(String.init)
            switch words.first {
            case "layer" where words.count == 2: for part in list { layers[part] = words[1] }
            case "import" where words.count == 2:
                importers[words[1], default: []].formUnion(list)
            case "except" where words.count == 4:
                for name in list {
                    exceptions.insert(Exception(from: words[1], to: words[3], name: name))
                }
            case let layer? where words.dropFirst().elementsEqual(["may", "name"]):
                allowed[layer] = Set(list)
            default: stop("\(path) has a line that means nothing: \(line)")
            }
        }
    }

    /// Returns the longest part of a path that the table lists: a file or a folder.
    private func place(of file: String) -> String {
        var part = Substring(file.dropFirst(root.count + 1))
        let isAtRoot = !part.contains("/")
        while layers[String(part)] == nil {
            guard let end = part.lastIndex(of: "/") else {
                if isAtRoot { return "." }
                stop("\(file) is in no folder of Scripts/layers.")
            }
            part = part[..<end]
        }
        return String(part)
    }

    /// Whether only an exception of the table allows a file to use a declaration.
    func isException(_ declared: Index.Declaration, in file: String) -> Bool {
        guard declared.file.hasPrefix(root + "/") else { return false }
        let name = String(declared.name.prefix { $0 != "(" })
        return exceptions.contains(
            Exception(from: place(of: file), to: place(of: declared.file), name: name))
    }

    /// Returns the uses that the table does not allow, and the exceptions that are not needed any
    /// more.
    func violations(in index: Index) -> [String] {
        var (violations, needed) = (Set<String>(), Set<Exception>())
        for (file, uses) in index.uses where file.hasPrefix(root + "/") {
            let from = place(of: file)
            for use in uses {
                guard let used = index.declarations[use.symbol], used.file.hasPrefix(root + "/")
                else { continue }
                let to = place(of: used.file)
                guard let upper = layers[from], let lower = layers[to], upper != lower,
                    allowed[upper]?.contains(lower) != true
                else { continue }
                let exception = Exception(from: from, to: to, name: use.baseName)
                needed.insert(exception)
                if exceptions.contains(exception) { continue }
                violations.insert("\(file):\(use.line): \(use.baseName) (\(to))")
            }
        }
        for exception in exceptions.subtracting(needed) {
            violations.insert(
                "Scripts/layers: the exception \(exception.from) -> \(exception.to): "
                    + "\(exception.name) is not needed any more")
        }
        return violations.sorted()
    }

    /// Returns the imports that the table does not allow, also those for another system.
    func wrongImports(in files: [String]) -> [String] {
        files.flatMap { file in
            imports(of: file).filter { module, _ in
                let parts = file.split(separator: "/", maxSplits: 2).map(String.init)
                let names = [parts[1], "\(parts[1])/\(parts[2])"]
                return importers[module]?.isDisjoint(with: names) != false
            }.map { "\(file):\($1): import \($0)" }
        }
    }

    private func imports(of file: String) -> [(module: String, line: Int)] {
        lines(of: file).enumerated().compactMap { index, line in
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(of: "import"), place <= 2, place + 1 < words.count,
                !line.hasPrefix("/")
            else { return nil }
            return (String(words[place + 1]), index + 1)
        }
    }
}

extension Index.Use {
    /// The name without the labels of arguments.
    var baseName: String { String(name.prefix { $0 != "(" }) }
}
