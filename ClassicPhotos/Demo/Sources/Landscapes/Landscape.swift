/// An imaginary landscape, generated from a number and the same every time.
///
/// The index determines everything: subject, time of day, composition, size and name. Neighbors in
/// a list differ in subject, brightness and shape, so that the first few hundred pictures look like
/// a person's collection of photographs.
///
/// Call from any thread; rendering keeps no state.
public struct Landscape: Sendable, Hashable {
    /// The index in the collection, from 0. Two pictures with the same index and size are equal.
    public let index: Int
    /// The subject of the picture.
    public let subject: Subject
    /// The time of day.
    public let timeOfDay: TimeOfDay
    /// The width in pixels.
    public let width: Int
    /// The height in pixels.
    public let height: Int
    /// A title in English, such as "Dawn over the Karst Ridges", unique for each index.
    public let name: String

    /// Describes a picture without rendering it.
    ///
    /// - Parameters:
    ///   - index: the index; a negative number counts as its magnitude.
    ///   - longestSide: the length of the longer side in pixels, at least 8; `nil` for the size of
    ///     a camera picture, 1.4 to 3.8 million pixels.
    public init(index: Int, longestSide: Int? = nil) {
        let plan = PicturePlan(index: Int(index.magnitude))
        self.index = Int(index.magnitude)
        subject = plan.subject
        timeOfDay = plan.timeOfDay
        name = plan.name
        guard let longestSide else {
            (width, height) = plan.size
            return
        }
        let longest = max(plan.size.width, plan.size.height)
        let side = max(longestSide, 8)
        width = max((plan.size.width * side + longest / 2) / longest, 1)
        height = max((plan.size.height * side + longest / 2) / longest, 1)
    }

    /// Renders the picture as packed RGB, 8 bits per channel, `width * height * 3` bytes, top row
    /// first.
    ///
    /// - Complexity: about 60 ns per pixel on one core of a 2023 server in an optimized build.
    ///   Unoptimized builds take some fifty times as long, so tests use a small `longestSide`.
    public func rgb() -> [UInt8] {
        let seed = UInt64(index) &* 0x9E37_79B9_7F4A_7C15 &+ 0x5851_F42D
        let canvas = Canvas(width: width, height: height)
        var painter = Painter(canvas: canvas, time: timeOfDay, seed: seed)
        painter.paint(subject)
        return painter.film.developed(canvas, seed: seed)
    }
}
