import Foundation

/// Writes small raw files into a folder, for the fuzzing of raw files: `rawseeds FOLDER`.
@main enum RawSeeds {
    static func main() throws {
        // The head of a JPEG: tables, a frame, a scan. Its pixels do not matter.
        let table = [UInt8](repeating: 1, count: 64)
        let jpeg: [UInt8] =
            [0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0] + table
            + [0xFF, 0xC0, 0, 11, 8, 0, 32, 0, 48, 1, 1, 0x11, 0]
            + [0xFF, 0xC4, 0, 20, 0, 1] + [UInt8](repeating: 0, count: 16)
            + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x55, 0xFF, 0xD9]
        let folder = URL(fileURLWithPath: CommandLine.arguments[1])
        for form in RawFileForm.allCases {
            let file = form.bytes(around: jpeg, orientation: 6, small: jpeg)
            try Data(file).write(to: folder.appendingPathComponent(form.rawValue))
        }
    }
}
