/// A landscape that exists nowhere: made from a number, the same every time.
///
/// The index decides everything: what is shown, at which hour, its composition, its size and its
/// name. Neighbours in a list differ in subject, brightness and shape, so that a list of the first
/// few hundred looks like somebody's collection of photographs.
///
/// Callable from any thread; rendering keeps no state.
public struct DemoPicture: Sendable, Hashable {
    /// The place in the collection, from 0. Two pictures of one index and size are equal.
    public let index: Int
    /// What is shown.
    public let subject: Subject
    /// When.
    public let timeOfDay: TimeOfDay
    /// Pixels across.
    public let width: Int
    /// Pixels down.
    public let height: Int
    /// A title in English, such as "Dawn over the Karst Ridges"; no two indices share one.
    public let name: String

    /// Describes a picture; nothing is rendered yet.
    ///
    /// - Parameters:
    ///   - index: which one; negative numbers count as their magnitude.
    ///   - longestSide: scales the picture so that its longer side has this many pixels, at least 8;
    ///     `nil` keeps the size of a camera's, 1.4 to 3.8 million pixels.
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

    /// Renders the picture: packed RGB, 8 bits a channel, `width * height * 3` bytes, top row first.
    ///
    /// - Complexity: about 60 ns a pixel on one core of a server of 2023, when optimised; unoptimised
    ///   builds take some fifty times that, so tests ask for a small `longestSide`.
    public func rgb() -> [UInt8] {
        let seed = UInt64(index) &* 0x9E37_79B9_7F4A_7C15 &+ 0x5851_F42D
        let canvas = Canvas(width: width, height: height)
        var painter = Painter(canvas: canvas, time: timeOfDay, seed: seed)
        painter.paint(subject)
        return painter.film.developed(canvas, seed: seed)
    }
}
