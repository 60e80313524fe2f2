import Foundation

// Proves the table of layers, `Scripts/layers`, by the compiler's index, and prints what tells how
// closely the files hang together.
//
// usage: layers <index store> [-v]        -v also prints the files of the largest circle

/// Stops with a message, as a failed check.
func stop(_ message: String) -> Never {
    print(message)
    exit(1)
}

func lines(of file: String) -> [Substring] {
    guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
        stop("\(file) cannot be read.")
    }
    return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
}

func swiftFiles(in folder: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return names.filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }.sorted()
}

func changeTime(of file: String) -> Date {
    let attributes = try? FileManager.default.attributesOfItem(atPath: file)
    return attributes?[.modificationDate] as? Date ?? .distantPast
}

let index = Index(at: CommandLine.arguments[1])

// An index that is older than a file would prove nothing.
let modules = ["Operations", "OperationsRuntime", "OperationsInsight"]
for file in modules.flatMap({ swiftFiles(in: "Sources/\($0)") }) {
    guard let time = index.compiled[file], time >= changeTime(of: file) else {
        stop("\(file) has not been compiled since it changed: build first, then check the layers.")
    }
}

for module in modules {
    let files = swiftFiles(in: "Sources/\(module)")
    let circle = Circle(of: files, in: index)
    let count = files.reduce(0) { $0 + lines(of: $1).count }
    print(
        "\(module): \(files.count) files, \(count) lines; the largest circle has "
            + "\(circle.largest.count) files, \(circle.lineCount) lines")
    if CommandLine.arguments.last == "-v" { for file in circle.largest.sorted() { print(file) } }
}

let table = try LayerTable(at: "Scripts/layers", for: "Sources/Operations")

// The core, as the table has it: without the calls that it names as exceptions.
let core = Circle(of: swiftFiles(in: "Sources/Operations"), in: index) { file, declared in
    !table.isException(declared, in: file)
}
print(
    "Without the exceptions of the table, the largest circle of Operations has "
        + "\(core.largest.count) files, \(core.lineCount) lines")
if CommandLine.arguments.last == "-v" { for file in core.largest.sorted() { print(file) } }

let protocols = index.declarations.filter {
    $1.kind == INDEXSTORE_SYMBOL_KIND_PROTOCOL && $1.file.hasPrefix("Sources/")
}
let lonely = protocols.compactMap { symbol, declared -> String? in
    let types = index.conformers(of: symbol)
    if types.count > 1 { return nil }
    guard let only = types.first.flatMap({ index.declarations[$0] }) else {
        return "\(declared.name) (none)"
    }
    let isNear = only.module == declared.module
    return "\(declared.name) (\(only.name)\(isNear ? "" : " of \(only.module)"))"
}
print("\(lonely.count) of \(protocols.count) protocols have at most one conformer:")
print("  " + lonely.sorted().joined(separator: ", "))

// The four types of CONTRIBUTING.md which no feature extends, and the folders of the core.
@MainActor func body(of type: String) -> TypeBody {
    let declared = index.declarations.values.first { declared in
        declared.name == type && declared.file.hasPrefix("Sources/Operations/")
            && (declared.kind == INDEXSTORE_SYMBOL_KIND_CLASS
                || declared.kind == INDEXSTORE_SYMBOL_KIND_STRUCT)
    }
    guard let declared else { stop("There is no type \(type): see Scripts/Layers/main.swift.") }
    return TypeBody(declared)
}
let stored = ["QueueState", "Claim", "OperationExtras"].map { type in
    "\(type) \(body(of: type).storedPropertyCount)"
}
print(
    "Stored properties: \(stored.joined(separator: ", ")); methods of Operation that only the "
        + "library overrides: \(body(of: "Operation").overridableCount)")
let folders = ["Scheduling", "Lifecycle", "Dependencies"].map { folder in
    let code = swiftFiles(in: "Sources/Operations/\(folder)").flatMap(lines).filter { line in
        let text = line.drop { $0 == " " }
        return !text.isEmpty && !text.hasPrefix("//")
    }
    return "\(folder) \(code.count)"
}
print("Lines of code: \(folders.joined(separator: ", "))")

// The reading list of CONTRIBUTING.md.
let list = lines(of: "CONTRIBUTING.md").compactMap { line -> String? in
    guard let start = line.firstRange(of: "(Sources/Operations"),
        let end = line[start.upperBound...].firstIndex(of: ")"),
        line.drop(while: { $0 == " " }).first?.isNumber == true
    else { return nil }
    return String(line[line.index(after: start.lowerBound)..<end])
}
let concepts = index.declarations.values.filter { declared in
    list.contains(declared.file)
        && [
            INDEXSTORE_SYMBOL_KIND_CLASS, INDEXSTORE_SYMBOL_KIND_ENUM,
            INDEXSTORE_SYMBOL_KIND_PROTOCOL, INDEXSTORE_SYMBOL_KIND_STRUCT,
        ].contains(declared.kind)
}
let listed = list.reduce(0) { $0 + lines(of: $1).count }
print("The reading list has \(list.count) files, \(listed) lines, \(concepts.count) types.")

let pages = Pages(
    namesIn: [
        "Sources", "Tests", "Models", "ClassicPhotos", "Scripts", "Benchmarks", "Snippets",
        "Examples", "Documentation",
    ])
let contributors =
    (try? FileManager.default.contentsOfDirectory(
        atPath: "Documentation/Scheduling.docc")) ?? []
let stale = pages.staleNames(
    in: contributors.filter { $0.hasSuffix(".md") }.sorted().map {
        "Documentation/Scheduling.docc/\($0)"
    } + ["CONTRIBUTING.md", "Models/README.md"])
for line in stale { print(line) }
if !stale.isEmpty { stop("A page names what is no longer there.") }

let violations =
    table.violations(in: index)
    + table.wrongImports(
        in: swiftFiles(in: "Sources/Operations") + swiftFiles(in: "Sources/OperationsRuntime"))
for violation in violations { print(violation) }
if !violations.isEmpty {
    stop("A folder names only what its layer may name: see the table Scripts/layers.")
}
print("The layers are kept.")
