/// The largest circle of files of a module: files each of which uses, directly or through others,
/// what the others declare.
///
/// Tarjan's algorithm finds the circles.
struct Circle {
    private(set) var largest: [String] = []
    private(set) var lineCount = 0

    private let edges: [String: Set<String>]
    private var numbers: [String: Int] = [:]
    private var lowest: [String: Int] = [:]
    private var stack: [String] = []

    /// - Parameter counts: whether a use of a declaration, from a file, counts.
    init(
        of files: [String], in index: Index,
        where counts: (String, Index.Declaration) -> Bool = { _, _ in true }
    ) {
        let members = Set(files)
        var edges: [String: Set<String>] = [:]
        for file in files {
            let used = (index.uses[file] ?? []).compactMap { use -> String? in
                guard let declared = index.declarations[use.symbol], counts(file, declared)
                else { return nil }
                return declared.file
            }
            edges[file] = Set(used).intersection(members)
        }
        self.edges = edges
        for file in files.sorted() where numbers[file] == nil { visit(file) }
    }

    private mutating func visit(_ file: String) {
        let number = numbers.count
        (numbers[file], lowest[file]) = (number, number)
        stack.append(file)
        for used in edges[file] ?? [] {
            if numbers[used] == nil { visit(used) }
            guard stack.contains(used), let low = lowest[used] else { continue }
            lowest[file] = min(low, lowest[file] ?? low)
        }
        guard lowest[file] == number, let start = stack.firstIndex(of: file) else { return }
        let circle = Array(stack[start...])
        stack.removeSubrange(start...)
        let count = circle.reduce(0) { $0 + lines(of: $1).count }
        guard circle.count > 1, count > lineCount else { return }
        (largest, lineCount) = (circle, count)
    }
}
