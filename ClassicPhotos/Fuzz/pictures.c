// Decodes any bytes as a picture, with libFuzzer. The first byte chooses the options.

#include "CPhotoVips.h"

#include <assert.h>
#include <string.h>

// Pictures beyond it are refused before they are decoded, as the engine does.
enum { MOST_PIXELS = 1 << 20 };

static bool begins(const uint8_t *bytes, size_t count, size_t at, const char *text) {
    size_t length = strlen(text);
    return count >= at + length && !memcmp(bytes + at, text, length);
}

static bool find_format(const uint8_t *bytes, size_t count, cvips_format *out) {
    if (begins(bytes, count, 0, "\xFF\xD8\xFF")) *out = CVIPS_FORMAT_JPEG;
    else if (begins(bytes, count, 0, "\x89PNG\r\n\x1A\n")) *out = CVIPS_FORMAT_PNG;
    else if (begins(bytes, count, 8, "WEBP")) *out = CVIPS_FORMAT_WEBP;
    else if (begins(bytes, count, 0, "GIF8")) *out = CVIPS_FORMAT_GIF;
    else if (begins(bytes, count, 0, "II*") || begins(bytes, count, 0, "MM"))
        *out = CVIPS_FORMAT_TIFF;
    else if (begins(bytes, count, 4, "ftypavif")) *out = CVIPS_FORMAT_AVIF;
    else if (begins(bytes, count, 4, "ftyp")) *out = CVIPS_FORMAT_HEIF;
    else return false;
    return true;
}

static void use(const cvips_decoded *decoded, const cvips_token *token) {
    const cvips_picture *picture = &decoded->picture;
    assert(picture->width > 0 && picture->height > 0 && picture->bands >= 3);
    // Every byte of the result is readable.
    volatile uint8_t last = picture->pixels[cvips_picture_size(picture) - 1];
    (void)last;
    const cvips_picture first = cvips_picture_frame(picture, 0);
    const double gain[3] = {1, 0.989, 0.9145}, exponent[3] = {0.78, 1.085, 1.902};
    cvips_render *render = cvips_render_new(&first, token);
    cvips_picture toned = {.pixels = NULL};
    if (render && cvips_render_tone(render, 0.8, gain, exponent) == CVIPS_STATUS_OK &&
        cvips_render_finish(render, &toned) == CVIPS_STATUS_OK) {
        const cvips_encode_options options = {
            .format = CVIPS_FORMAT_JPEG, .quality = 80, .metadata = decoded->metadata};
        cvips_bytes file = {.bytes = NULL};
        if (cvips_encode(&toned, &options, token, &file) == CVIPS_STATUS_OK) assert(file.count > 0);
        cvips_free(file.bytes);
    }
    cvips_free(toned.pixels);
    if (render) cvips_render_free(render);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cvips_format format;
    if (size < 2 || !find_format(data + 1, size - 1, &format)) return 0;
    cvips_token *token = cvips_token_new(-1, 5000000000);
    cvips_info info;
    cvips_status status = cvips_inspect(data + 1, size - 1, format, token, &info);
    if (status == CVIPS_STATUS_OK &&
        (int64_t)info.width * info.height * info.frames <= MOST_PIXELS) {
        const cvips_decode_options options = {
            .box_width = data[0] & 1 ? 40 : 0, .box_height = data[0] & 1 ? 30 : 0,
            .keeps_depth = data[0] & 2, .keeps_frames = data[0] & 4,
            .keeps_metadata = data[0] & 8, .accepts_damage = data[0] & 16};
        cvips_decoded decoded;
        status = cvips_decode(data + 1, size - 1, format, &info, &options, token, &decoded);
        if (status == CVIPS_STATUS_OK) {
            use(&decoded, token);
            cvips_free(decoded.picture.pixels);
            cvips_metadata_free(decoded.metadata);
        }
    }
    // No input may take seconds.
    assert(status != CVIPS_STATUS_TIMED_OUT);
    cvips_token_free(token);
    return 0;
}
