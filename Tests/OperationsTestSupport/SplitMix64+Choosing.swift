package import OperationsRuntime

extension SplitMix64 {
    package mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    package mutating func happens(_ one: Int, in many: Int) -> Bool { below(many) < one }
}
