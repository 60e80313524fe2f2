/// One thing that a thread of a round does. What the numbers mean depends on the kind.
struct Step: Codable, Hashable, Sendable {
    /// The number of the step in the plan as it was generated. Other steps name their target by it.
    let id: Int
    let kind: Kind
    let queue: Int
    /// How much: blocks, nodes, members, or how long.
    var count: Int
    /// How often a body suspends.
    var hops: Int
    /// Which of several forms.
    var style: Int
    /// The level of the priority, from 0 to 4; 2 is the usual one.
    var priority: Int
    /// The number of the quality of service, or nil if none is set.
    var quality: Int?
    /// The step whose operation this one is about.
    var target: Int?
}
