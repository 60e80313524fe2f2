/// A random number generator with the same sequence for every peer (Knuth's MMIX constants).
struct Random {
    private var state: UInt64 = 42

    mutating func next(below limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
}
