#if PhotoImaging
/// The name that a person probably meant, or nil if no name is similar enough.
///
/// - Parameters:
///   - text: the text that is none of the names.
///   - names: the valid names.
@_spi(ClassicPhotos) public func closestName(to text: String, in names: [String]) -> String? {
    let text = Array(text.lowercased())
    let distances = names.map { (name: $0, distance: editDistance(text, Array($0))) }
    guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
    // One mistake in three characters of the longer text, and never more than three.
    let length = max(text.count, best.name.count)
    return best.distance <= min(3, max(1, length / 3)) ? best.name : nil
}

/// The number of characters to insert, remove, replace or exchange with a neighbor that turns one
/// text into the other (the "optimal string alignment" distance).
private func editDistance(_ a: [Character], _ b: [Character]) -> Int {
    var rows = [Array(0...b.count)]
    for i in a.indices {
        var row = [i + 1]
        for j in b.indices {
            var least = min(
                rows[i][j] + (a[i] == b[j] ? 0 : 1), min(rows[i][j + 1], row[j]) + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
                least = min(least, rows[i - 1][j - 1] + 1)
            }
            row.append(least)
        }
        rows.append(row)
    }
    return rows[a.count][b.count]
}
#endif
