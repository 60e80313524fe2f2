// The C face of libvips that Swift sees.
//
// libvips' calls take NULL-terminated option lists, which Swift cannot call, and its headers pull
// in all of glib. So this header has plain structs and opaque types only, and every call into
// libvips happens in the .c files beside it.
//
// Threads: every function may be called from any thread. Pictures are plain memory that nothing
// here writes to after it was returned, so many threads may read one picture at once.
//
// Errors: a call answers with a status decided by *where* it failed. libvips' own message is not
// offered: its error buffer is one for the whole process, so under load it belongs to somebody
// else's picture.

#ifndef CVIPS_H
#define CVIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define CVIPS_CLOSED_ENUM __attribute__((enum_extensibility(closed)))
// The name of an enumerator in Swift.
#define CVIPS_CASE(name) __attribute__((swift_name(#name)))
#else
#define CVIPS_CLOSED_ENUM
#define CVIPS_CASE(name)
#endif

typedef enum CVIPS_CLOSED_ENUM cvips_status {
    CVIPS_STATUS_OK CVIPS_CASE(ok) = 0,
    CVIPS_STATUS_CANCELLED CVIPS_CASE(cancelled),
    CVIPS_STATUS_TIMED_OUT CVIPS_CASE(timedOut),
    // libvips could not start, or this build of it lacks a needed part.
    CVIPS_STATUS_UNAVAILABLE CVIPS_CASE(unavailable),
    CVIPS_STATUS_OUT_OF_MEMORY CVIPS_CASE(outOfMemory),
    // The step itself failed: header, pixels, filter or encoder, as the called function says.
    CVIPS_STATUS_FAILED CVIPS_CASE(failed),
    // A picture could be made, but a part of it would be missing or wrong.
    CVIPS_STATUS_DAMAGED CVIPS_CASE(damaged)
} cvips_status;

typedef enum CVIPS_CLOSED_ENUM cvips_format {
    CVIPS_FORMAT_JPEG CVIPS_CASE(jpeg) = 0,
    CVIPS_FORMAT_PNG CVIPS_CASE(png),
    CVIPS_FORMAT_WEBP CVIPS_CASE(webp),
    CVIPS_FORMAT_GIF CVIPS_CASE(gif),
    CVIPS_FORMAT_TIFF CVIPS_CASE(tiff),
    CVIPS_FORMAT_HEIF CVIPS_CASE(heif)
} cvips_format;

// --- Process and threads

// Starts libvips once for the process; later calls are cheap and answer the same.
cvips_status cvips_setup(void);

// --- Cancellation: a flag, a deadline and a limit of processor time, safe to touch from any thread

typedef struct cvips_token cvips_token;

// `deadline` is in nanoseconds from now. `processor_time` is what all calls that are given the
// token may use of the processors together, in nanoseconds; time in which a thread waits for a
// processor does not count. Negative means none. NULL when out of memory.
cvips_token *cvips_token_new(int64_t deadline, int64_t processor_time);
void cvips_token_free(cvips_token *token);
void cvips_token_cancel(cvips_token *token);
bool cvips_token_is_cancelled(const cvips_token *token);
// OK, CANCELLED or TIMED_OUT. A NULL token is always OK.
cvips_status cvips_token_check(const cvips_token *token);

// --- Pixels and bytes

// Packed rows, no padding, 8 bits a band; 3 bands are RGB, 4 are RGB and straight alpha.
typedef struct cvips_picture {
    uint8_t *pixels;
    int32_t width;
    int32_t height;
    int32_t bands;
} cvips_picture;

typedef struct cvips_bytes {
    uint8_t *bytes;
    size_t count;
} cvips_bytes;

// Room for a picture; its pixels are not initialised.
cvips_status cvips_picture_new(int32_t width, int32_t height, int32_t bands, cvips_picture *out);
// Frees what a picture or an encoded file owns.
void cvips_free(uint8_t *memory);

// --- Reading

typedef struct cvips_info {
    // As stored, before `orientation` is applied.
    int32_t width;
    int32_t height;
    // EXIF orientation, 1...8.
    int32_t orientation;
    int32_t frames;
    bool has_alpha;
    // Progressive JPEG or interlaced PNG: cannot be decoded in strips.
    bool is_progressive;
    // Bytes that the decoder keeps of the whole picture while it decodes, whatever the box, beside
    // the result: the coefficients of a progressive JPEG, the pixels of an interlaced PNG. At most
    // so many.
    int64_t buffered_bytes;
} cvips_info;

// Reads the header with the loader of `format` and no other.
cvips_status cvips_inspect(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_info *out);

// Decodes the first frame, turned upright, in sRGB, shrunk (never enlarged) to fit the box.
// A box side of 0 means "no bound". Alpha is kept unless every pixel is opaque. `info` is what
// cvips_inspect said of the same bytes and format. All work is done by the calling thread.
cvips_status cvips_decode(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_info *info,
    int32_t box_width, int32_t box_height, const cvips_token *token, cvips_picture *out);

// --- Filtering: begin, add steps, finish. One thread at a time may use a render.

typedef struct cvips_render cvips_render;

// The pixels of `in`, and the token, must outlive the render. NULL when out of memory.
cvips_render *cvips_render_new(const cvips_picture *in, const cvips_token *token);
void cvips_render_free(cvips_render *render);

// Linear light: out = in + intensity * (gain * luminance^exponent - in), for each of R, G, B.
cvips_status cvips_render_tone(
    cvips_render *render, double intensity, const double gain[3], const double exponent[3]);

// Encoded values: a row-major 3x3 matrix, then three curves of 256 entries (R, G, B in turn).
cvips_status cvips_render_recolour(
    cvips_render *render, const double matrix[9], const uint8_t curves[768]);

// Darkens from `start` (share of the half diagonal, 0...1) outwards, to 1 - amount at the corner.
cvips_status cvips_render_vignette(cvips_render *render, double amount, double start);

// Gaussian; `sigma` in pixels.
cvips_status cvips_render_blur(cvips_render *render, double sigma);

// Blur that grows away from a sharp horizontal band. `centre`, `band` and `transition` are shares
// of the height; `sigma` is the blur, in pixels, where the transition ends.
cvips_status cvips_render_tilt_shift(
    cvips_render *render, double centre, double band, double transition, double sigma);

// Unsharp mask on luma; `sigma` in pixels.
cvips_status cvips_render_sharpen(cvips_render *render, double sigma, double amount);

cvips_status cvips_render_finish(cvips_render *render, cvips_picture *out);

// --- Writing

// libvips runs its encoders on threads of its own, of which one computes at a time, while the
// caller waits. Without metadata. `quality` is 1...100 and is ignored by lossless formats. Formats
// without alpha get the picture on white. CVIPS_FORMAT_HEIF is not written.
cvips_status cvips_encode(
    const cvips_picture *in, cvips_format format, int32_t quality, const cvips_token *token,
    cvips_bytes *out);

#endif
