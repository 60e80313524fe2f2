/// The scrolling state of a page's list.
public enum ScrollPhase: String, Sendable, CaseIterable, Codable {
    /// A finger, the mouse or a key moves the list.
    case dragging
    /// The list moves by itself.
    case decelerating
    /// The list is still.
    case settled
}
