import OperationsTestSupport
import Testing

@testable import PhotoImaging

@Suite(.ownThreads) struct ExifTests {
    /// The texts of libvips for a photo of a phone.
    private let entries = [
        "exif-ifd0-Make": "Apple (Apple, ASCII, 6 components, 6 bytes)",
        "exif-ifd0-Model": "iPhone (8) (iPhone (8), ASCII, 11 components, 11 bytes)",
        "exif-ifd2-DateTimeOriginal":
            "2015:04:14 18:21:09 (2015:04:14 18:21:09, ASCII, 20 components, 20 bytes)",
        "exif-ifd2-OffsetTimeOriginal": "+02:00 (+02:00, ASCII, 7 components, 7 bytes)",
        "exif-ifd2-ExposureTime": "8/1000 (1/125 sec., Rational, 1 components, 8 bytes)",
        "exif-ifd2-FNumber": "28/10 (f/2.8, Rational, 1 components, 8 bytes)",
        "exif-ifd2-ISOSpeedRatings": "400 (400, Short, 1 components, 2 bytes)",
        "exif-ifd2-FocalLength": "415/100 (4.2 mm, Rational, 1 components, 8 bytes)",
        "exif-ifd3-GPSLatitude":
            "52/1 31/1 12/1 (52, 31, 12, Rational, 3 components, 24 bytes)",
        "exif-ifd3-GPSLatitudeRef": "S (S, ASCII, 2 components, 2 bytes)",
        "exif-ifd3-GPSLongitude":
            "13/1 24/1 0/1 (13, 24,  0, Rational, 3 components, 24 bytes)",
        "exif-ifd3-GPSLongitudeRef": "E (E, ASCII, 2 components, 2 bytes)",
    ]

    @Test func fieldsAreReadFromTexts() {
        let fields = ExifFields(entries: entries)
        #expect(fields.taken == "2015-04-14T18:21:09+02:00")
        #expect(fields.camera == "Apple iPhone (8)")
        #expect(fields.exposure == "1/125")
        #expect(fields.aperture == 2.8 && fields.iso == 400 && fields.focalLength == 4.15)
        #expect(fields.latitude == -52.52 && fields.longitude == 13.4)
        #expect(fields.lens == nil)
    }

    @Test(arguments: [
        ("exif-ifd2-DateTimeOriginal", "2015:13:14 18:21:09"),
        ("exif-ifd2-DateTimeOriginal", "yesterday"), ("exif-ifd2-FNumber", "28/0"),
        ("exif-ifd2-FNumber", "nan"), ("exif-ifd2-ExposureTime", "-1/2"),
        ("exif-ifd2-ISOSpeedRatings", "1e300"), ("exif-ifd2-FocalLength", ""),
        ("exif-ifd3-GPSLatitude", "91/1 0/1 0/1"), ("exif-ifd3-GPSLatitude", "1/1"),
        ("exif-ifd3-GPSLatitudeRef", "X"), ("exif-ifd0-Make", "    "),
    ])
    func invalidValuesAreLeftOut(name: String, value: String) {
        var entries = entries
        entries[name] =
            name.hasSuffix("FNumber") || name.hasSuffix("Latitude")
            ? "\(value) (\(value), Rational, 1 components, 8 bytes)"
            : "\(value) (\(value), ASCII, 9 components, 9 bytes)"
        let fields = ExifFields(entries: entries)
        switch name {
        case "exif-ifd2-DateTimeOriginal": #expect(fields.taken == nil)
        case "exif-ifd2-FNumber": #expect(fields.aperture == nil)
        case "exif-ifd2-ExposureTime": #expect(fields.exposure == nil)
        case "exif-ifd2-ISOSpeedRatings": #expect(fields.iso == nil)
        case "exif-ifd2-FocalLength": #expect(fields.focalLength == nil)
        case "exif-ifd0-Make": #expect(fields.camera == "iPhone (8)")
        default: #expect(fields.latitude == nil && fields.longitude == nil)
        }
    }

    @Test func entriesOfFileAreRead() throws {
        let pixels = [UInt8](repeating: 9, count: 16 * 16 * 3)
        let bitmap = try Bitmap(size: PixelSize(width: 16, height: 16), pixels: pixels)
        let jpeg = try ImageEngine.encode(bitmap, as: .jpeg).bytes
        let file = JPEGSegments.inserting(
            JPEGSegments.exif(orientation: 6, make: "Camera <b>", thumbnail: "T"), into: jpeg)
        #expect(try ImageEngine.exif(of: file).camera == "Camera <b>")
        #expect(try ImageEngine.exif(of: jpeg) == ExifFields())
        #expect(throws: ImagingError.self) { try ImageEngine.exif(of: Array("text".utf8)) }
    }
}
