package import Testing

/// Checks what a process said before it ended.
package func expect(
    _ result: ExitTest.Result?, says sentences: String...,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    for sentence in sentences {
        #expect(text.contains(sentence), "said: \(text)", sourceLocation: sourceLocation)
    }
}
