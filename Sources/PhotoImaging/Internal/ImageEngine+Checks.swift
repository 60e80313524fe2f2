#if PhotoImaging
import CPhotoVips

extension ImageEngine {
    /// A header in our form and in the shim's.
    struct Header {
        let info: ImageInfo
        var shim: cvips_info
        /// The bytes of the picture: those of the file, or of the JPEG in a raw file.
        let picture: [UInt8]
        /// The EXIF block of a TIFF, which libvips does not read; nil for other files.
        let exif: ExifBlock?
    }

    /// Reads a header and checks it against the limits.
    ///
    /// - Parameter visit: receives the parts of the header, before the limits are checked.
    static func readHeader(
        of bytes: [UInt8], limits: ImageLimits, cancellation: ImagingCancellation?,
        visiting visit: HeaderVisit? = nil
    ) throws(ImagingError) -> Header {
        try cancellation?.check()
        let (format, raw) = try detect(bytes, limits: limits)
        let picture = try raw?.requiredPicture ?? bytes
        var header = cvips_info()
        let status = ImagingCancellation.withToken(of: cancellation) { token in
            guard let visit else {
                return cvips_inspect(picture, picture.count, format.shimFormat, token, &header)
            }
            return visit.read(picture, format, token, &header)
        }
        try check(status) { .decodeFailed(detail: format.damage(in: picture, reading: "header")) }
        var info = ImageInfo(format: format, header: header)
        if let raw {
            info.rawSize = raw.rawSize
            if raw.hasXMP { info.metadataKinds.insert(.xmp) }
            // The JPEG is copied out of the file.
            info.bufferedBytes += picture.count
        }
        let exif = format == .tiff ? ExifBlock(ofTIFF: bytes) : nil
        if let exif {
            if exif.hasExifFields { info.metadataKinds.insert(.exif) }
            if let visit { _ = try readFields(exif, visiting: visit) }
        }
        try limits.check(info)
        return Header(info: info, shim: header, picture: picture, exif: exif)
    }

    /// The header of a raw file of which the JPEG lies beyond the given bytes, with the size of the
    /// raw data; nil for everything else.
    static func rawInfo(
        of bytes: [UInt8], limits: ImageLimits, visiting visit: HeaderVisit
    ) throws(ImagingError) -> ImageInfo? {
        guard case (.raw, let raw?) = try detect(bytes, limits: limits), raw.endsEarly,
            let size = raw.rawSize
        else { return nil }
        var header = try readFields(raw.exif, visiting: visit)
        (header.width, header.height) = (.init(size.width), .init(size.height))
        var info = ImageInfo(format: .raw, header: header)
        info.rawSize = size
        try limits.check(info)
        return info
    }

    /// Reads fields as those of a JPEG of one pixel.
    static func readFields(
        _ exif: ExifBlock, visiting visit: HeaderVisit
    ) throws(ImagingError) -> cvips_info {
        let head = ExifBlock.head(with: exif.bytes)
        var header = cvips_info()
        try check(visit.read(head, .jpeg, nil, &header)) {
            .decodeFailed(detail: ImageFormat.jpeg.damage(in: head, reading: "header"))
        }
        return header
    }

    /// The format of a file, if it is allowed; and its directories if it is a raw file.
    static func detect(
        _ bytes: [UInt8], limits: ImageLimits
    ) throws(ImagingError) -> (format: ImageFormat, raw: RawFile?) {
        guard !bytes.isEmpty else { throw .emptyInput }
        guard let format = ImageFormat(detecting: bytes) else {
            if let name = ImageFormat.unsafeFormat(of: bytes) { throw .formatNotRead(name: name) }
            throw .unknownFormat(looksLike: ImageFormat.guess(bytes))
        }
        if format == .raw || format == .tiff, let raw = RawFile(bytes) {
            try limits.check(.raw)
            return (.raw, raw)
        }
        try limits.check(format)
        return (format, nil)
    }

    /// Throws the error for a status; `failure` makes the error for a failure of the step itself.
    static func check(
        _ status: cvips_status, failure: () -> ImagingError
    ) throws(ImagingError) {
        switch status {
        case .ok: return
        case .cancelled: throw .cancelled
        case .timedOut: throw .timedOut
        case .unavailable: throw .engineUnavailable
        case .outOfMemory: throw .outOfMemory
        case .failed, .damaged: throw failure()
        }
    }

    /// The box in the shim's form, in which 0 means unbounded.
    static func shimBox(_ box: PixelSize?) throws(ImagingError) -> (width: Int32, height: Int32) {
        guard let box else { return (0, 0) }
        guard box.width > 0, box.height > 0 else {
            throw .invalidArgument(
                "Both sides of the box for a picture must be at least 1, not \(box).")
        }
        return (Int32(min(box.width, 10_000_000)), Int32(min(box.height, 10_000_000)))
    }

    static func checkEncodable(
        _ size: PixelSize, as format: ImageFormat, quality: Int
    ) throws(ImagingError) {
        guard format.canEncode else {
            throw .invalidArgument(
                "\(format.rawValue) cannot be written, because libvips has no encoder for it. "
                    + "Use \(ImageFormat.encodableNames).")
        }
        guard (1...100).contains(quality) else {
            throw .invalidArgument("The quality must be 1 to 100, not \(quality).")
        }
        guard size.longerSide <= format.maximumEncodedSide else {
            throw .invalidArgument(
                "A \(format.rawValue) file can have at most \(format.maximumEncodedSide) pixels per "
                    + "side, but the picture has \(size). Shrink the picture or use png.")
        }
    }
}

extension RawFile {
    /// The JPEG as a file with the fields of the raw file.
    fileprivate var requiredPicture: [UInt8] {
        get throws(ImagingError) {
            guard let picture else {
                throw endsEarly
                    ? .decodeFailed(detail: "the raw file ends too early, within its JPEG")
                    : .noPictureInRawFile
            }
            return picture
        }
    }
}

extension ImageInfo {
    fileprivate init(format: ImageFormat, header: cvips_info) {
        let stored = PixelSize(width: Int(header.width), height: Int(header.height))
        // Orientations 5 to 8 include a quarter turn.
        let size = header.orientation >= 5 ? stored.transposed : stored
        let kinds: [(MetadataKind, Bool)] = [
            (.exif, header.has_exif), (.xmp, header.has_xmp), (.iptc, header.has_iptc),
        ]
        self.init(
            format: format, size: size, hasAlpha: header.has_alpha,
            orientation: Int(header.orientation), frames: Int(header.frames),
            bitsPerChannel: Int(header.depth) * 8, isGray: header.is_gray,
            metadataKinds: Set(kinds.filter(\.1).map(\.0)),
            isProgressive: header.is_progressive, bufferedBytes: Int(header.buffered_bytes))
        hasFloats = header.is_float
        let parts: [(ExtraPart, Bool)] = [
            (.gainMap, header.has_gain_map), (.video, header.has_video),
            (.highlights, header.is_hdr),
        ]
        extraParts = Set(parts.filter(\.1).map(\.0))
    }
}

extension ImageFormat {
    var shimFormat: cvips_format {
        switch self {
        // The JPEG in a raw file is decoded.
        case .jpeg, .raw: .jpeg
        case .png: .png
        case .webp: .webp
        case .gif: .gif
        case .tiff: .tiff
        case .heif: .heif
        case .avif: .avif
        }
    }
}
#endif
