extension String {
    /// The text on one line, for a terminal or a page: control characters, line separators and the
    /// characters that change the direction of the text around them become `·`.
    ///
    /// The name `photo` U+202E `gpj.exe` would otherwise be shown as `photoexe.jpg`, and would
    /// reverse the rest of a terminal's line.
    public var onOneLine: String {
        String(
            unicodeScalars.map { scalar in
                switch scalar.properties.generalCategory {
                case .control, .lineSeparator, .paragraphSeparator: "·"
                default: scalar.properties.isBidiControl ? "·" : Character(scalar)
                }
            })
    }
}
