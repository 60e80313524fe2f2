#if PhotoPipeline
/// Puts a text of unknown origin between quotation marks, for one line of a message.
///
/// Control characters are escaped, so that a list cannot control the terminal that shows its
/// errors. Long texts are truncated.
@_spi(ClassicPhotos) public func quoted(_ text: String) -> String {
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
#endif
