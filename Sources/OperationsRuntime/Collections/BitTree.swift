/// A set of numbers below a capacity, which finds the next member after any number in a few steps.
///
/// The lowest level has one bit for each number. Each level above has one bit for each word of the
/// level below that is not zero, so each level is 64 times smaller. Three such levels reduce a step
/// over 262,144 words to three steps. The topmost level is searched word by word.
///
/// The set is not a value in the usual sense: copies share the bits, and the owner ends with
/// ``deallocate()``.
@usableFromInline
package struct BitTree {
    @inlinable static var levels: Int { 4 }

    /// A power of two, at least 64.
    @usableFromInline let capacity: Int
    @usableFromInline package internal(set) var count = 0
    @usableFromInline let words: UnsafeMutablePointer<UInt64>
    @usableFromInline let wordCount: Int

    @inlinable
    package init(capacity: Int) {
        precondition(capacity >= 64 && capacity.nonzeroBitCount == 1)
        self.capacity = capacity
        wordCount = (0..<Self.levels).reduce(0) { $0 + Self.words(of: $1, capacity: capacity) }
        words = .allocate(capacity: wordCount)
        words.initialize(repeating: 0, count: wordCount)
    }

    @inlinable
    package func deallocate() { words.deallocate() }

    @inlinable var isEmpty: Bool { count == 0 }

    @inlinable
    static func words(of level: Int, capacity: Int) -> Int {
        max(1, capacity >> (6 * (level + 1)))
    }

    /// Returns the index of the first word of a level.
    @inlinable
    @inline(__always)
    func base(_ level: Int) -> Int {
        var base = 0
        for below in 0..<level { base += Self.words(of: below, capacity: capacity) }
        return base
    }

    @inlinable
    @inline(__always)
    package func contains(_ index: Int) -> Bool {
        words[index >> 6] & (1 << (index & 63)) != 0
    }

    @inlinable
    package mutating func insert(_ index: Int) {
        let word = words[index >> 6]
        let bit: UInt64 = 1 << (index & 63)
        if word & bit != 0 { return }
        words[index >> 6] = word | bit
        count += 1
        if word == 0 { mark(index >> 6) }
    }

    /// Returns the members among 64 numbers in a row, as the bits of a word.
    ///
    /// - Parameter first: the first of the numbers, a multiple of 64.
    @inlinable
    package func members(from first: Int) -> UInt64 { words[first >> 6] }

    /// Inserts members among 64 numbers in a row, none of which is a member yet.
    @inlinable
    package mutating func insert(_ members: UInt64, from first: Int) {
        if members == 0 { return }
        let word = words[first >> 6]
        assert(word & members == 0)
        words[first >> 6] = word | members
        count += members.nonzeroBitCount
        if word == 0 { mark(first >> 6) }
    }

    /// Records in the upper levels that a word of the lowest level is no longer zero.
    @inlinable
    mutating func mark(_ wordIndex: Int) {
        var index = wordIndex
        for level in 1..<Self.levels {
            let place = base(level) + index >> 6
            let before = words[place]
            words[place] = before | 1 << (index & 63)
            if before != 0 { return }
            index >>= 6
        }
    }

    @inlinable
    package mutating func remove(_ index: Int) {
        let bit: UInt64 = 1 << (index & 63)
        guard words[index >> 6] & bit != 0 else { return }
        words[index >> 6] ^= bit
        count -= 1
        if words[index >> 6] == 0 { unmark(index >> 6) }
    }

    /// Removes members among 64 numbers in a row.
    @inlinable
    package mutating func remove(_ members: UInt64, from first: Int) {
        if members == 0 { return }
        assert(words[first >> 6] & members == members)
        words[first >> 6] ^= members
        count -= members.nonzeroBitCount
        if words[first >> 6] == 0 { unmark(first >> 6) }
    }

    @inlinable
    mutating func unmark(_ wordIndex: Int) {
        var index = wordIndex
        for level in 1..<Self.levels {
            let place = base(level) + index >> 6
            words[place] &= ~(1 << (index & 63))
            if words[place] != 0 { return }
            index >>= 6
        }
    }

    /// Removes `first`, which must be a member, and the members that follow it in a row, up to the
    /// next multiple of 64. Removes at most `limit` members and returns how many.
    @inlinable
    @inline(__always)
    package mutating func removeRun(from first: Int, limit: Int) -> Int {
        let (place, offset) = (first >> 6, first & 63)
        let absent = ~(words[place] >> UInt64(offset))
        let length = min(absent.trailingZeroBitCount, limit)
        let ones = UInt64.max >> UInt64(64 - length)
        words[place] &= ~(ones << UInt64(offset))
        count -= length
        if words[place] == 0 { unmark(place) }
        return length
    }

    /// Returns the first member that is not below `start`.
    @inlinable
    @inline(__always)
    func first(from start: Int) -> Int? {
        if count == 0 { return nil }
        let word = words[start >> 6] & (~0 << (start & 63))
        if word != 0 { return start & ~63 + word.trailingZeroBitCount }
        guard let word = next(level: 1, from: start >> 6 + 1) else { return nil }
        return firstBit(of: word, level: 0)
    }

    /// Returns the first member from `start` on, searching around the end.
    @inlinable
    @inline(__always)
    package func firstAround(from start: Int) -> Int? {
        if count == 0 { return nil }
        if let next = first(from: start) { return next }
        return first(from: 0)
    }

    /// Returns the last member that is not above `end`.
    @inlinable
    package func last(upTo end: Int) -> Int? {
        if count == 0 { return nil }
        if let bit = Self.lastBit(in: words[end >> 6], upTo: end & 63) { return end & ~63 + bit }
        return previous(level: 1, before: end >> 6)
    }

    /// Returns the last bit of a word that is set and not above `end`.
    @inlinable
    static func lastBit(in word: UInt64, upTo end: Int) -> Int? {
        let rest = word & (~0 >> (63 - end))
        return rest == 0 ? nil : 63 - rest.leadingZeroBitCount
    }

    /// Returns the last member below those that `word` stands for, a word of the level under
    /// `level`.
    @inlinable
    func previous(level: Int, before word: Int) -> Int? {
        guard word > 0 else { return nil }
        let (base, last) = (base(level), word - 1)
        if let bit = Self.lastBit(in: words[base + last >> 6], upTo: last & 63) {
            return lastMember(of: last & ~63 + bit, level: level - 1)
        }
        if level + 1 < Self.levels { return previous(level: level + 1, before: last >> 6) }
        for index in (0..<last >> 6).reversed() {
            guard let bit = Self.lastBit(in: words[base + index], upTo: 63) else { continue }
            return lastMember(of: index << 6 + bit, level: level - 1)
        }
        return nil
    }

    /// Returns the last member under a word that is not zero.
    @inlinable
    func lastMember(of word: Int, level: Int) -> Int? {
        guard let bit = Self.lastBit(in: words[base(level) + word], upTo: 63) else { return nil }
        let member = word << 6 + bit
        return level == 0 ? member : lastMember(of: member, level: level - 1)
    }

    @inlinable
    func firstBit(of word: Int, level: Int) -> Int {
        word << 6 + words[base(level) + word].trailingZeroBitCount
    }

    /// Returns the first set bit of a level from `start` on. The bit stands for a word of the level
    /// below that is not zero.
    @inlinable
    func next(level: Int, from start: Int) -> Int? {
        guard start < Self.words(of: level - 1, capacity: capacity) else { return nil }
        let base = base(level)
        let word = words[base + start >> 6] & (~0 << (start & 63))
        if word != 0 { return start & ~63 + word.trailingZeroBitCount }
        if level + 1 < Self.levels {
            guard let word = next(level: level + 1, from: start >> 6 + 1) else { return nil }
            return firstBit(of: word, level: level)
        }
        for index in start >> 6 + 1..<max(start >> 6 + 1, Self.words(of: level, capacity: capacity))
        where words[base + index] != 0 { return firstBit(of: index, level: level) }
        return nil
    }
}
