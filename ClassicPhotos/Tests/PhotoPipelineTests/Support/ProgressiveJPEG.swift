#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A progressive JPEG of 48 × 32 pixels: a gradient, written by libjpeg in ten scans.
let progressiveJPEG: [UInt8] = {
    let text = """
        /9j/2wBDAAYEBQYFBAYGBQYHBwYIChAKCgkJChQODwwQFxQYGBcUFhYaHSUfGhsjHBYWICwgIyYnKSopGR8tMC0o
        MCUoKSj/2wBDAQcHBwoIChMKChMoGhYaKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo
        KCgoKCgoKCj/wgARCAAgADADASIAAhEBAxEB/8QAFgABAQEAAAAAAAAAAAAAAAAABAUH/8QAGAEBAQADAAAAAAAA
        AAAAAAAAAwUCBgf/2gAMAwEAAhADEAAAAc+UxWQDUxTVBKYpqsRTFa9zsaWpaoNTFNV//8QAFRABAQAAAAAAAAAA
        AAAAAAAAAgD/2gAIAQEAAQUCIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi/8QAFREBAQAAAAAAAAAAAAAAAAAAAwD/
        2gAIAQMBAT8BF4XheF4Xhe//xAAWEQADAAAAAAAAAAAAAAAAAAAAAQP/2gAIAQIBAT8BVhWFYVhWFY//xAAUEAEA
        AAAAAAAAAAAAAAAAAABA/9oACAEBAAY/Akf/xAAUEAEAAAAAAAAAAAAAAAAAAABA/9oACAEBAAE/IUKqqqqqqq//
        2gAMAwEAAgADAAAAEOg/oFef/8QAFREBAQAAAAAAAAAAAAAAAAAAAGH/2gAIAQMBAT8Qqqqqqq//xAAUEQEAAAAA
        AAAAAAAAAAAAAAAg/9oACAECAQE/EFVV/8QAFhAAAwAAAAAAAAAAAAAAAAAAACEx/9oACAEBAAE/EIoiiKIoiiKI
        oiiKIoiiKIoiiKIoiiKIoiiKIoiiKP/Z
        """
    guard let data = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
        preconditionFailure("the text is base64")
    }
    return Array(data)
}()
