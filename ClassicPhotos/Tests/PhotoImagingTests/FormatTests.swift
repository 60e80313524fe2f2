import OperationsTestSupport
import PhotoImaging
import Testing

@Suite(.ownThreads) struct FormatTests {
    @Test(arguments: ImageFormat.allCases.filter(\.canEncode))
    func encodedFilesAreDetected(format: ImageFormat) throws {
        #expect(ImageFormat(detecting: try Pictures.file(format)) == format)
    }

    @Test(arguments: ["heic", "mif1"])
    func heifBrandsAreDetected(brand: String) {
        #expect(ImageFormat(detecting: [0, 0, 0, 24] + Array("ftyp\(brand)".utf8)) == .heif)
    }

    @Test(arguments: ["avif", "avis"])
    func avifBrandsAreDetected(brand: String) {
        #expect(ImageFormat(detecting: [0, 0, 0, 24] + Array("ftyp\(brand)".utf8)) == .avif)
    }

    @Test func bigTIFFAndBigEndianTIFFAreDetected() {
        #expect(ImageFormat(detecting: [0x4D, 0x4D, 0x00, 0x2A]) == .tiff)
        #expect(ImageFormat(detecting: [0x49, 0x49, 0x2B, 0x00]) == .tiff)
    }

    @Test func tooFewBytesAreNotDetected() {
        #expect(ImageFormat(detecting: [] as [UInt8]) == nil)
        #expect(ImageFormat(detecting: [0xFF, 0xD8]) == nil)
        #expect(ImageFormat(detecting: Array("RIFF1234WEB".utf8)) == nil)
    }

    @Test(arguments: ["heix", "heim", "heis", "hevc", "hevx", "msf1"])
    func stillPictureBrandsAreDetected(brand: String) {
        #expect(ImageFormat(detecting: [0, 0, 0, 24] + Array("ftyp\(brand)".utf8)) == .heif)
    }

    @Test(arguments: ImageFormat.allCases)
    func everyFileExtensionMapsToItsFormat(format: ImageFormat) {
        #expect(format.fileExtensions.first == format.fileExtension)
        for fileExtension in format.fileExtensions {
            #expect(ImageFormat(fileExtension: fileExtension) == format)
            #expect(ImageFormat(fileExtension: fileExtension.uppercased()) == format)
        }
    }

    @Test(arguments: ["", "jp", "jpgx", "txt", "mp4", ".jpg"])
    func unknownFileExtensionsHaveNoFormat(fileExtension: String) {
        #expect(ImageFormat(fileExtension: fileExtension) == nil)
    }

    @Test func signatureLengthSufficesForDetection() throws {
        for format in ImageFormat.allCases where format.canEncode {
            let start = try Pictures.file(format).prefix(ImageFormat.signatureLength)
            #expect(ImageFormat(detecting: start) == format)
        }
    }

    @Test func extensionsAndMediaTypesAreStandard() {
        #expect(ImageFormat.jpeg.fileExtension == "jpg")
        #expect(ImageFormat.jpeg.mediaType == "image/jpeg")
        #expect(ImageFormat.webp.fileExtension == "webp")
        #expect(ImageFormat.heif.fileExtension == "heic" && !ImageFormat.jpeg.hasAlpha)
    }
}
