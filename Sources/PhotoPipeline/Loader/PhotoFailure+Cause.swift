#if PhotoPipeline
extension PhotoFailure {
    /// The reason of a failure without a language: a code, and the values for the sentence.
    ///
    /// A program that shows failures in another language has a sentence for each code.
    /// ``PhotoFailure/reason`` is the English sentence.
    public struct Cause: Sendable, Hashable {
        /// The kind of the failure.
        public let code: Code
        /// The values that a sentence for the code may contain, by name.
        public let values: [String: String]

        /// Creates a cause.
        public init(_ code: Code, _ values: [String: String] = [:]) {
            self.code = code
            self.values = values
        }
    }
}

extension PhotoFailure.Cause {
    /// The kinds of failures, each with the names of its values.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        // MARK: The list

        /// The entry of the list is invalid; `detail`.
        case badEntry
        /// The folder cannot be read and was skipped; `name`, `detail`.
        case folderSkipped

        // MARK: Files

        /// The file does not exist; `name`.
        case noFile
        /// The name belongs to something else than a file; `name`.
        case notAFile
        /// The file cannot be read; `name`.
        case fileNotReadable
        /// The file exceeds the limit; `limit` in MiB.
        case fileTooLarge

        // MARK: Downloads

        /// The URL cannot be downloaded; `detail`.
        case badAddress
        /// The host is not at a public address; `host`, `address`, and `allowed`, a text for
        /// ``AllowedHost``.
        case addressBlocked
        /// The host does not exist; `host`.
        case unknownHost
        /// The host refuses connections, or there is no way to it; `host`, `port`.
        case unreachable
        /// The host did not accept a connection in time; `host`, `seconds`.
        case noConnection
        /// The host sent nothing in time; `host`, `seconds`.
        case noAnswer
        /// The host stopped sending; `host`, `seconds`.
        case stalled
        /// The host sent too few bytes a second; `host`, `rate`, `seconds`.
        case tooSlow
        /// The download exceeded its time limit; `seconds`.
        case tookTooLong
        /// The host closed the connection too early; `host`.
        case closedEarly
        /// The server refused; `status`, `phrase`.
        case serverAnswered
        /// The host sent another part of the file; `host`.
        case wrongPart
        /// The host redirects too often; `host`, `limit`.
        case tooManyRedirects
        /// The host redirects in a loop; `host`.
        case redirectLoop
        /// The host redirects to a target that cannot be followed; `host`, `detail`.
        case badRedirect
        /// The download failed in another way; `detail`.
        case downloadFailed

        // MARK: Pictures

        /// The picture exceeded its time limit.
        case pictureTookTooLong
        /// The file has no bytes.
        case emptyFile
        /// The file is not a picture.
        case notAPicture
        /// The file is a picture in a format that is not read; `detail`.
        case formatNotRead
        /// The raw file contains no JPEG that shows its photo.
        case noPictureInRawFile
        /// The format is not allowed for this source; `format`.
        case formatNotAllowed
        /// The picture has too many pixels; `size`.
        case tooManyPixels
        /// The frames of the picture have too many pixels together; `frames`, `size`.
        case tooManyFrames
        /// The picture is damaged; `detail`.
        case damaged
        /// A filter or a processor failed; `detail`.
        case filterFailed
        /// The result could not be encoded; `detail`.
        case encodeFailed
        /// A file that may not be replaced has the name of the result; `path`.
        case fileExists
        /// There is not enough memory.
        case outOfMemory
        /// The picture library could not start.
        case engineUnavailable
    }
}
#endif
