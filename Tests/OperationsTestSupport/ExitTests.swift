public import Testing

/// Checks that the standard error of a process contains the given sentences.
public func expect(
    _ result: ExitTest.Result?, says sentences: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for sentence in sentences {
        #expect(text.contains(sentence), "standard error: \(text)", sourceLocation: sourceLocation)
    }
}
