/// How much a piece of work matters to the person who waits for it.
///
/// The raw values are Foundation's.
public enum QualityOfService: Int, Sendable, Hashable, CaseIterable {
    /// Work that a person interacts with at this moment.
    case userInteractive = 0x21
    /// Work that a person asked for and waits for.
    case userInitiated = 0x19
    /// Work that takes a while and that nobody waits for at every moment.
    case utility = 0x11
    /// Work that nobody sees.
    case background = 0x09
    /// Nothing was said.
    case `default` = -1
}
