// What the .c files of this target share. Never seen by Swift.

#ifndef CVIPS_INTERNAL_H
#define CVIPS_INTERNAL_H

#include "CVips.h"

#include <vips/vips.h>

// libvips runs encoders on a thread of its own, and hands over to it and back with glib's mutexes.
// Those are not pthread's, so thread sanitizer does not see that one thread waits for the other.
// These two tell it: what was done before `CVIPS_RELEASE(p)` is seen after `CVIPS_ACQUIRE(p)`.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define CVIPS_RELEASE(pointer) __tsan_release((void *)(pointer))
#define CVIPS_ACQUIRE(pointer) __tsan_acquire((void *)(pointer))
#endif
#endif
#ifndef CVIPS_RELEASE
#define CVIPS_RELEASE(pointer) ((void)(pointer))
#define CVIPS_ACQUIRE(pointer) ((void)(pointer))
#endif

// The status to answer after a libvips call failed: why it was stopped, if it was; else
// `otherwise`. Clears libvips' error buffer, which would grow for ever.
cvips_status cvips_failure(const cvips_token *token, cvips_status otherwise);

// A call begins to work for `token` on this thread: what the thread did before does not count as
// the token's processor time. Answers as cvips_token_check.
cvips_status cvips_token_enter(const cvips_token *token);

// Has `image`, and all that is computed through it, poll `token` while libvips evaluates it.
void cvips_watch(VipsImage *image, const cvips_token *token);

// Evaluates `image` into new memory, turned as an EXIF orientation says, on the calling thread.
cvips_status cvips_write_picture(
    VipsImage *image, int orientation, const cvips_token *token, cvips_picture *out);

// How many warnings libvips has written on this thread since the last call.
unsigned cvips_take_warnings(void);

// What the markers of a JPEG say.
typedef struct cvips_jpeg_layout {
    // Bytes of all coefficients, if they have to be in memory at once: of several scans; else 0.
    int64_t coefficient_bytes;
    // Whether the scans that there are make a whole picture.
    bool has_all_scans;
} cvips_jpeg_layout;

// Walks over the markers; no pixel is decoded. Takes less than a millisecond a megabyte.
cvips_jpeg_layout cvips_jpeg_read_layout(const uint8_t *bytes, size_t count);

// Decodes a JPEG once more to see whether its data is whole: DAMAGED if a part is missing or wrong.
// For files of which libvips has only said that there was a warning, which may be a harmless one.
cvips_status cvips_jpeg_examine(const uint8_t *bytes, size_t count, const cvips_token *token);

// A libvips image over the picture's own memory, no copy. NULL when out of memory.
VipsImage *cvips_wrap_picture(const cvips_picture *picture);

// A source over `bytes` whose reads fail once `token` says stop. NULL when out of memory.
// `bytes` and `token` must outlive the source.
VipsSource *cvips_source_new(const uint8_t *bytes, size_t count, const cvips_token *token);

// A target that collects bytes and whose writes fail once `token` says stop. NULL when out of
// memory.
VipsTarget *cvips_target_new(const cvips_token *token);
// What was written; the target is empty afterwards.
cvips_bytes cvips_target_take(VipsTarget *target);

// Whether an ICC profile says, in other words or the same, that pixels are sRGB already.
bool cvips_profile_is_srgb(const uint8_t *profile, size_t count);

// The colour space an ICC profile describes, as its four characters, or 0.
uint32_t cvips_profile_space(const uint8_t *profile, size_t count);
#define CVIPS_SPACE_RGB 0x52474220u
#define CVIPS_SPACE_GREY 0x47524159u
#define CVIPS_SPACE_CMYK 0x434D594Bu

// --- Filters. They are our own loops over memory, run by the calling thread: libvips would run
// them
// on a thread of its own, which has neither the caller's priority nor its processor time account,
// and a picture that is in memory already leaves it nothing to stream.

struct cvips_render {
    // The caller's picture.
    cvips_picture in;
    // What the steps so far made of it; no pixels before the first step.
    cvips_picture own;
    const cvips_token *token;
};

// The picture as it is now.
static inline const cvips_picture *cvips_render_current(const cvips_render *render) {
    return render->own.pixels ? &render->own : &render->in;
}

// Computes one row. `in` has the same row of the current picture, which may be `out` itself, and of
// the step's other pictures.
typedef void (*cvips_row_function)(
    const void *tables, uint8_t *out, const uint8_t *const *in, int y, int width, int bands);

// A step that makes each row from the same row of the current picture and of up to two others, all
// of one size and band count. The token is asked before every row.
cvips_status cvips_render_rows(
    cvips_render *render, cvips_row_function row, const void *tables, const cvips_picture *first,
    const cvips_picture *second);

// A step's result takes the place of the current picture.
void cvips_render_replace(cvips_render *render, cvips_picture next);

// A new picture: `in` blurred with `sigma` pixels.
cvips_status cvips_blurred(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out);

#endif
