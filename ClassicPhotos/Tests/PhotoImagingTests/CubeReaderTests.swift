import OperationsTestSupport
import PhotoImaging
import Testing

/// Files with the extension cube.
@Suite(.ownThreads) struct CubeReaderTests {
    private static let table = "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 1\n"

    private func look(_ text: String) throws -> Look { try Look(cube: Array(text.utf8)) }

    private func error(_ text: String) -> ImagingError? {
        #expect(throws: ImagingError.self) { try look(text) }
    }

    @Test(arguments: [
        "\u{FEFF}LUT_3D_SIZE 2\n" + table,
        "# One\n\n  # Two\nTITLE \"A \"b\" c\"\r\nLUT_3D_SIZE\t2  \r\n"
            + table.replacing("\n", with: "\r\n"),
        "LUT_3D_SIZE 2\r" + table.replacing("\n", with: "\r"),
        "LUT_3D_SIZE 2\nDOMAIN_MIN -0 0.0 0e5\nDOMAIN_MAX 1 +1.0 .1e1\n" + table + "\n\n# End",
        "LUT_3D_INPUT_RANGE 0.0 1.0\nlut_3d_size 2\n" + table.dropLast(),
    ])
    func formsOfLinesAreRead(text: String) throws {
        let plain = ImageFilter.look(try look("LUT_3D_SIZE 2\n" + Self.table))
        let picture = try Pictures.colorful(width: 40, height: 30)
        let expected = try ImageEngine.apply([plain], to: picture).pixels()
        let result = try ImageEngine.apply([.look(look(text))], to: picture).pixels()
        #expect(result == expected)
    }

    @Test func titleIsRead() throws {
        #expect(try look("TITLE \"A \"b\" c\"\nLUT_3D_SIZE 2\n" + Self.table).title == "A \"b\" c")
        #expect(try look("TITLE Warm  tones\nLUT_3D_SIZE 2\n" + Self.table).title == "Warm tones")
        #expect(try look("LUT_3D_SIZE 2\n" + Self.table).title == nil)
    }

    @Test(arguments: [
        ("", 1, "no table"),
        ("# Only a comment\n", 1, "no table"),
        ("LUT_3D_SIZE 2\n", 1, "no table"),
        (table, 1, "before LUT_1D_SIZE or LUT_3D_SIZE"),
        ("LUT_3D_SIZE 2\n" + table.dropLast(6), 8, "after 7 of the 8"),
        ("LUT_3D_SIZE 2\n" + table + "0 0 0\n", 10, "more entries than the 8"),
        ("\nLUT_3D_SIZE 1\n", 2, "from 2 to 256"),
        ("LUT_3D_SIZE 257\n", 1, "from 2 to 256"),
        ("LUT_3D_SIZE -2\n", 1, "from 2 to 256"),
        ("LUT_3D_SIZE 99999999999999999999\n", 1, "from 2 to 256"),
        ("LUT_3D_SIZE\n", 1, "from 2 to 256"),
        ("LUT_3D_SIZE 2 2\n", 1, "from 2 to 256"),
        ("LUT_1D_SIZE 65537\n", 1, "from 2 to 65536"),
        ("LUT_3D_SIZE 2\nLUT_3D_SIZE 2\n", 2, "LUT_3D_SIZE is given twice"),
        ("TITLE \"a\"\nTITLE \"b\"\n", 2, "TITLE is given twice"),
        ("LUT_3D_SIZE 2\nDOMAIN_MIN 0 0\n", 2, "DOMAIN_MIN needs 3 numbers"),
        ("LUT_3D_SIZE 2\nDOMAIN_MAX 1 0 1\n" + table, 10, "ends where it begins"),
        ("LUT_3D_SIZE 2\n0 0 0\nTITLE \"a\"\n", 3, "TITLE is in the table"),
        ("LUT_3D_SIZE 2\n0 0\n", 2, "three numbers"),
        ("LUT_3D_SIZE 2\n0 0 0 0\n", 2, "three numbers"),
        ("LUT_3D_SIZE 2\n0 0 nan\n", 2, "a number has the form"),
        ("LUT_3D_SIZE 2\n0 0 1e38\n", 2, "at most 1e37"),
        ("LUT_3D_SIZE 2\n0 0 0x1\n", 2, "a number has the form"),
        ("LUT_3D_SIZE 2\n0 0 1-1\n", 2, "a number has the form"),
        ("LUT_IN_VIDEO_RANGE\n", 1, "LUT_IN_VIDEO_RANGE is not supported"),
        ("nan 0 0\n", 1, "nan is not supported"),
        ("\u{7}\u{1B}[2J 2\n", 1, "neither a keyword nor a number"),
    ])
    func mistakesHaveLineNumbers(text: String, line: Int, words: String) {
        guard case .invalidLook(line, let problem)? = error(text) else {
            Issue.record("\(String(describing: error(text)))")
            return
        }
        #expect(problem.contains(words), "\(problem)")
    }

    @Test func largestSizesAreRead() throws {
        let curves = "LUT_1D_SIZE 65536\n" + String(repeating: "0 .5 1\n", count: 65_536)
        #expect(try look(curves).title == nil)
        let cube = "LUT_3D_SIZE 64\n" + String(repeating: "0 0 0\n", count: 64 * 64 * 64)
        #expect(try look(cube).title == nil)
    }

    /// A header may claim a size that the file does not have.
    @Test func announcedSizeTakesNoMemory() {
        guard case .invalidLook(2, let problem)? = error("LUT_3D_SIZE 256\n0 0 0\n") else {
            Issue.record("A table with one entry is too short.")
            return
        }
        #expect(problem.contains("after 1 of the 16777216 entries"))
    }

    @Test func everyTruncationFails() throws {
        let text = Array(("TITLE \"a\"\nLUT_3D_SIZE 2\n" + Self.table).utf8)
        // The last number may lose its line end.
        for length in 0..<text.count - 2 {
            #expect(throws: ImagingError.self) { try Look(cube: Array(text[..<length])) }
        }
    }
}
