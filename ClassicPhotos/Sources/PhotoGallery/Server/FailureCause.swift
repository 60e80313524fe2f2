import HTTPTypes
import Hummingbird
import NIOCore
import PhotoLibrary
import PhotoPipeline

/// The reason of a failure without a language, as clients receive it.
struct FailureCause: Encodable {
    let code: String
    let values: [String: String]

    init(_ cause: PhotoFailure.Cause) {
        code = cause.code.rawValue
        values = cause.values.mapValues(\.onOneLine)
    }
}

/// The answer to a request for a photo that has failed: the sentence, its cause as a code, whether
/// a retry may help, and whether there is an original to save.
struct PhotoFailureResponse: HTTPResponseError {
    let failure: PhotoFailure

    var status: HTTPResponse.Status { .unprocessableContent }

    private struct Body: ResponseEncodable {
        struct Problem: Encodable {
            let message: String
            let failure: FailureCause?
            let retryable: Bool
            let hasOriginal: Bool
        }

        let error: Problem
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        let body = Body(
            error: .init(
                message: failure.reasonWithFlag.onOneLine,
                failure: failure.cause.map(FailureCause.init),
                retryable: failure.isRetryable, hasOriginal: failure.hasOriginal))
        var response = try body.response(from: request, context: context)
        response.status = status
        return response
    }
}
