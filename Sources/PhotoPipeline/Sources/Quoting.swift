/// A text of unknown origin between quotation marks, fit for one line of a message.
///
/// Control characters are escaped, so that a list cannot move the cursor of the terminal on which
/// its errors are read, and long texts are cut.
func quoted(_ text: String) -> String {
    let limit = 120
    var result = "\""
    for scalar in text.unicodeScalars.prefix(limit) {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            result += scalar.escaped(asASCII: true)
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .letterNumber,
            .otherNumber, .connectorPunctuation, .dashPunctuation, .openPunctuation,
            .closePunctuation, .initialPunctuation, .finalPunctuation, .otherPunctuation,
            .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol, .spaceSeparator,
            .surrogate, .privateUse, .unassigned:
            result.unicodeScalars.append(scalar)
        @unknown default:
            result += scalar.escaped(asASCII: true)
        }
    }
    return result + (text.unicodeScalars.count > limit ? "…\"" : "\"")
}
