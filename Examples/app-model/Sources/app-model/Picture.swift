/// Stands for a picture.
struct Picture: Equatable, Sendable {
    let color: Int
}

/// An error that comes and goes, as that of a network does.
struct NoConnection: Error {}

/// Stands for a download that takes some time of a processor, and that fails for one row.
func loadPicture(_ row: Int) async throws -> Picture {
    if row == 41 { throw NoConnection() }
    let color = (0..<300_000).reduce(row) { color, step in (color &* 31 &+ step) & 0xFFFFFF }
    return Picture(color: color)
}
