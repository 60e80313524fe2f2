#if DurableJobs
extension Array {
    /// The elements in arrays of at most `length`.
    func parts(of length: Int) -> [[Element]] {
        stride(from: 0, to: count, by: length).map { start in
            Array(self[start..<Swift.min(start + length, count)])
        }
    }
}
#endif
