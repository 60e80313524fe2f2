#if PhotoImaging
/// The fields of a photo's EXIF block that people look for; nil for what the file does not say.
///
/// The texts come from the file: show them as text, never as markup.
public struct ExifFields: Sendable, Hashable {
    /// The time of the exposure as in ISO 8601, such as `2015-04-14T18:21:09`, in the camera's own
    /// time; with an offset such as `+02:00` if the file has it.
    public var taken: String?
    /// The maker and the model of the camera, such as `Canon EOS 5D`.
    public var camera: String?
    /// The model of the lens.
    public var lens: String?
    /// The exposure time in seconds, as people write it: `1/125` or `2.5`.
    public var exposure: String?
    /// The f-number, such as 2.8.
    public var aperture: Double?
    /// The sensitivity, such as 400.
    public var iso: Int?
    /// The focal length in millimetres.
    public var focalLength: Double?
    /// The latitude in degrees, positive in the north; only together with ``longitude``.
    public var latitude: Double?
    /// The longitude in degrees, positive in the east; only together with ``latitude``.
    public var longitude: Double?

    /// Creates fields without values.
    public init() {}
}

extension ImageEngine {
    /// Reads the EXIF fields of a picture, without decoding any pixel.
    ///
    /// Invalid values are left out. The start of a raw file is enough if it contains the fields, as
    /// that of most raw files does.
    ///
    /// - Throws: the errors of ``inspect(_:limits:)``.
    public static func exif(
        of bytes: [UInt8], limits: ImageLimits = .standard
    ) throws(ImagingError) -> ExifFields {
        guard let raw = try detect(bytes, limits: limits).raw else {
            return try header(of: bytes, limits: limits).fields
        }
        // They need no JPEG that can be shown.
        let visit = HeaderVisit()
        _ = try readFields(raw.exif, visiting: visit)
        return ExifFields(entries: visit.entries)
    }
}

extension ExifFields {
    private enum Entry: String, CaseIterable {
        case make = "exif-ifd0-Make"
        case model = "exif-ifd0-Model"
        case changed = "exif-ifd0-DateTime"
        case taken = "exif-ifd2-DateTimeOriginal"
        case offset = "exif-ifd2-OffsetTimeOriginal"
        case lens = "exif-ifd2-LensModel"
        case exposure = "exif-ifd2-ExposureTime"
        case aperture = "exif-ifd2-FNumber"
        // libexif changed the name of this tag.
        case iso = "exif-ifd2-ISOSpeedRatings"
        case sensitivity = "exif-ifd2-PhotographicSensitivity"
        case focalLength = "exif-ifd2-FocalLength"
        case latitude = "exif-ifd3-GPSLatitude"
        case latitudeSide = "exif-ifd3-GPSLatitudeRef"
        case longitude = "exif-ifd3-GPSLongitude"
        case longitudeSide = "exif-ifd3-GPSLongitudeRef"
    }

    static let entryNames = Set(Entry.allCases.map(\.rawValue))

    /// - Parameter entries: the texts of libvips, by name.
    init(entries: [String: String]) {
        func value(_ entry: Entry) -> String? {
            entries[entry.rawValue].flatMap(Self.value)
        }
        func number(_ entry: Entry) -> Double? { value(entry).flatMap(Self.number) }
        taken = (value(.taken) ?? value(.changed)).flatMap { Self.time($0, offset: value(.offset)) }
        camera = Self.camera(make: value(.make), model: value(.model))
        lens = value(.lens)
        exposure = number(.exposure).flatMap(Self.exposure)
        aperture = number(.aperture).flatMap { (0.1...1_000).contains($0) ? $0 : nil }
        iso = (number(.iso) ?? number(.sensitivity)).flatMap {
            (1...10_000_000).contains($0) ? Int($0) : nil
        }
        focalLength = number(.focalLength).flatMap { (0.1...100_000).contains($0) ? $0 : nil }
        let north = Self.degrees(value(.latitude), side: value(.latitudeSide), "N", "S", to: 90)
        let east = Self.degrees(value(.longitude), side: value(.longitudeSide), "E", "W", to: 180)
        // A point without one of its coordinates is no place.
        if let north, let east { (latitude, longitude) = (north, east) }
    }

    /// The value in libvips' text: `28/10 (f/2.8, Rational, 1 components, 8 bytes)` has the value
    /// `28/10`. The value for people, in parentheses, may contain anything, even parentheses. For
    /// ASCII both values are equal, so the length of the text gives their length.
    private static func value(_ text: String) -> String? {
        let value: Substring
        if let end = text.index(ofLast: ", ASCII, ") {
            let both = text[..<end].unicodeScalars
            value = Substring(both.prefix(max(0, (both.count - 2) / 2)))
        } else {
            // Numbers, fractions and spaces.
            value = text.prefix { $0 != "(" }
        }
        var visible = String.UnicodeScalarView()
        visible.append(contentsOf: value.unicodeScalars.filter { $0.value >= 32 })
        let trimmed = String(visible).drop { $0 == " " }
        guard let last = trimmed.lastIndex(where: { $0 != " " }) else { return nil }
        return String(trimmed[...last].prefix(200))
    }

    private static func number(_ text: String) -> Double? {
        let parts = (text.split(separator: " ").first ?? "").split(separator: "/")
        guard let first = parts.first.flatMap({ Double($0) }) else { return nil }
        guard parts.count == 2 else { return first.isFinite ? first : nil }
        guard let second = Double(parts[1]), second != 0 else { return nil }
        return first / second
    }

    private static func camera(make: String?, model: String?) -> String? {
        guard let make, let model else { return make ?? model }
        // Many makers begin the model with their own name.
        return model.lowercased().hasPrefix(make.lowercased()) ? model : "\(make) \(model)"
    }

    /// `2015:04:14 18:21:09` becomes `2015-04-14T18:21:09`.
    private static func time(_ text: String, offset: String?) -> String? {
        let parts = text.split(separator: " ")
        guard parts.count == 2 else { return nil }
        let date = parts[0].split(separator: ":").map { Int($0) ?? -1 }
        let time = parts[1].split(separator: ":").map { Int($0) ?? -1 }
        guard date.count == 3, time.count == 3, (1...9_999).contains(date[0]),
            (1...12).contains(date[1]), (1...31).contains(date[2]), (0...23).contains(time[0]),
            (0...59).contains(time[1]), (0...60).contains(time[2])
        else { return nil }
        let zone = offset.flatMap { $0.count == 6 && "+-".contains($0.prefix(1)) ? $0 : nil }
        return padded(date[0], 4) + "-" + padded(date[1], 2) + "-" + padded(date[2], 2) + "T"
            + time.map { padded($0, 2) }.joined(separator: ":") + (zone ?? "")
    }

    private static func padded(_ number: Int, _ digits: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func exposure(_ seconds: Double) -> String? {
        guard seconds > 0, seconds < 1e6 else { return nil }
        if seconds >= 0.4 { return FilterParameter.text((seconds * 10).rounded() / 10) }
        let share = (1 / seconds).rounded()
        return share < 1e7 ? "1/\(Int(share))" : nil
    }

    /// Degrees, minutes and seconds, as in `52/1 31/1 12/1`, as degrees.
    private static func degrees(
        _ text: String?, side: String?, _ positive: String, _ negative: String, to limit: Double
    ) -> Double? {
        guard let text, let side, side == positive || side == negative else { return nil }
        let parts = text.split(separator: " ").map { number(String($0)) ?? .nan }
        guard parts.count == 3 else { return nil }
        let degrees = parts[0] + parts[1] / 60 + parts[2] / 3_600
        // NaN is in no range.
        guard (0...limit).contains(degrees) else { return nil }
        let rounded = (degrees * 1e6).rounded() / 1e6
        return side == negative ? -rounded : rounded
    }
}

extension String {
    /// The index at which the last occurrence of a text begins.
    fileprivate func index(ofLast text: String) -> Index? {
        var start = endIndex
        while start > startIndex {
            start = index(before: start)
            if self[start...].hasPrefix(text) { return start }
        }
        return nil
    }
}
#endif
