/// What a page's list is doing.
public enum ScrollPhase: String, Sendable, CaseIterable, Codable {
    /// A finger, the mouse or a key moves it.
    case dragging
    /// It runs on by itself.
    case decelerating
    /// It rests.
    case settled
}
