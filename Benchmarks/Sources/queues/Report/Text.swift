extension String {
    /// Pads to the given width, on the right, or on the left if the width is negative.
    func padded(_ width: Int) -> String {
        let fill = String(repeating: " ", count: max(0, abs(width) - count))
        return width < 0 ? fill + self : self + fill
    }
}

/// Groups digits: 1,234,567.
func grouped(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() {
        if index > 0, index.isMultiple(of: 3) { text.append(",") }
        text.append(digit)
    }
    return String(text.reversed())
}

/// Rounds to three significant digits; whole numbers from 100 on.
func figure(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    if value >= 99.95 { return grouped(Int(value.rounded())) }
    if value >= 9.995 {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
}
