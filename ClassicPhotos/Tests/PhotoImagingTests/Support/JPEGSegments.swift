/// Segments for insertion into a JPEG directly after its start marker.
enum JPEGSegments {
    static func inserting(_ segment: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
        Array(jpeg[..<2]) + segment + Array(jpeg[2...])
    }

    /// An EXIF block whose only entry is the orientation.
    static func exif(orientation: UInt8) -> [UInt8] {
        let tiff: [UInt8] =
            [0x4D, 0x4D, 0x00, 0x2A, 0, 0, 0, 8, 0, 1]
            + [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0] + [0, 0, 0, 0]
        return application(1, Array("Exif\0\0".utf8) + tiff)
    }

    /// An EXIF block with a maker, an orientation, and a second directory with a thumbnail.
    static func exif(orientation: UInt8, make: String, thumbnail: String) -> [UInt8] {
        let (make, picture) = (Array(make.utf8) + [0], Array(thumbnail.utf8))
        func long(_ value: Int) -> [UInt8] { HostileFiles.bigEndian(value) }
        func short(_ value: Int) -> [UInt8] { Array(long(value).suffix(2)) }
        // The first directory has 2 entries and starts at 8; the maker follows it.
        let makePlace = 8 + 2 + 2 * 12 + 4
        let second = makePlace + make.count + make.count % 2
        let picturePlace = second + 2 + 3 * 12 + 4
        var tiff: [UInt8] = [0x4D, 0x4D, 0x00, 0x2A] + long(8) + short(2)
        tiff += short(0x10F) + short(2) + long(make.count) + long(makePlace)
        tiff += short(0x112) + short(3) + long(1) + short(Int(orientation)) + short(0)
        tiff += long(second) + make + [UInt8](repeating: 0, count: make.count % 2)
        tiff += short(3)
        tiff += short(0x103) + short(3) + long(1) + short(6) + short(0)
        tiff += short(0x201) + short(4) + long(1) + long(picturePlace)
        tiff += short(0x202) + short(4) + long(1) + long(picture.count)
        tiff += long(0) + picture
        return application(1, Array("Exif\0\0".utf8) + tiff)
    }

    static func xmp(_ packet: String) -> [UInt8] {
        application(1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + Array(packet.utf8))
    }

    /// A Photoshop block with IPTC data: a headline of at most 255 bytes.
    static func iptc(headline: String) -> [UInt8] {
        let text = Array(headline.utf8)
        let data: [UInt8] = [0x1C, 2, 105, 0, UInt8(text.count)] + text
        let resource =
            Array("8BIM".utf8) + [4, 4, 0, 0] + HostileFiles.bigEndian(data.count) + data
            + [UInt8](repeating: 0, count: data.count % 2)
        return application(13, Array("Photoshop 3.0\0".utf8) + resource)
    }

    static func profile(_ profile: [UInt8]) -> [UInt8] {
        application(2, Array("ICC_PROFILE\0".utf8) + [1, 1] + profile)
    }

    private static func application(_ number: UInt8, _ body: [UInt8]) -> [UInt8] {
        let length = body.count + 2
        return [0xFF, 0xE0 + number, UInt8(length >> 8), UInt8(length & 0xFF)] + body
    }
}

/// A small ICC profile (version 4) of a display with three primaries and sRGB's curve.
enum Profiles {
    /// sRGB's primaries, adapted to D50, as XYZ.
    static let red = [0.4361, 0.2225, 0.0139]
    static let green = [0.3851, 0.7169, 0.0971]
    static let blue = [0.1431, 0.0606, 0.7139]

    static func display(red: [Double], green: [Double], blue: [Double]) -> [UInt8] {
        let curve =
            Array("para".utf8) + [0, 0, 0, 0, 0, 3, 0, 0]
            + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(fixed)
        let tags: [(String, [UInt8])] = [
            ("rXYZ", xyz(red)), ("gXYZ", xyz(green)), ("bXYZ", xyz(blue)),
            ("wtpt", xyz([0.9642, 1, 0.8249])),
            ("rTRC", curve), ("gTRC", curve), ("bTRC", curve), ("cprt", text), ("desc", text),
        ]
        return assemble(tags)
    }

    /// A profile of four inks.
    ///
    /// - Parameter table: the tag that leads from the inks to Lab.
    static func inks(_ table: [UInt8]) -> [UInt8] {
        var profile = assemble([
            ("A2B0", table), ("wtpt", xyz([0.9642, 1, 0.8249])), ("cprt", text), ("desc", text),
        ])
        // Version 2, of an input device.
        profile[8] = 2
        profile.replaceSubrange(12..<24, with: Array("scnrCMYKLab ".utf8))
        return profile
    }

    private static func assemble(_ tags: [(String, [UInt8])]) -> [UInt8] {
        var table = HostileFiles.bigEndian(tags.count)
        var data: [UInt8] = []
        let start = 128 + 4 + 12 * tags.count
        for (name, body) in tags {
            table +=
                Array(name.utf8) + HostileFiles.bigEndian(start + data.count)
                + HostileFiles.bigEndian(body.count)
            data += body
        }
        return header(count: start + data.count) + table + data
    }

    private static func header(count: Int) -> [UInt8] {
        var bytes = HostileFiles.bigEndian(count) + [0, 0, 0, 0, 4, 0x20, 0, 0]
        bytes += Array("mntrRGB XYZ ".utf8)
        bytes += [0x07, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0] + Array("acsp".utf8)
        bytes += [UInt8](repeating: 0, count: 28)
        bytes += [0.9642, 1, 0.8249].flatMap(fixed)
        return bytes + [UInt8](repeating: 0, count: 128 - bytes.count)
    }

    private static let text: [UInt8] =
        Array("mluc".utf8) + [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 12]
        + Array("enUS".utf8) + [0, 0, 0, 4, 0, 0, 0, 28, 0, 0x54, 0, 0x54]

    private static func xyz(_ values: [Double]) -> [UInt8] {
        Array("XYZ ".utf8) + [0, 0, 0, 0] + values.flatMap(fixed)
    }

    private static func fixed(_ value: Double) -> [UInt8] {
        HostileFiles.bigEndian(Int((value * 65536).rounded()))
    }
}
