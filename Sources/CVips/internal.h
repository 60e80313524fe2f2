// What the .c files of this target share. Never seen by Swift.

#ifndef CVIPS_INTERNAL_H
#define CVIPS_INTERNAL_H

#include "CVips.h"

#include <vips/vips.h>

// The status to answer after a libvips call failed: why it was stopped, if it was; else `otherwise`.
// Clears libvips' error buffer, which would grow for ever.
cvips_status cvips_failure(const cvips_token *token, cvips_status otherwise);

// Has `image`, and all that is computed through it, poll `token` while it is evaluated.
void cvips_watch(VipsImage *image, const cvips_token *token);

// Evaluates `image` into new memory.
cvips_status cvips_write_picture(VipsImage *image, const cvips_token *token, cvips_picture *out);

// A libvips image over the picture's own memory, no copy. NULL when out of memory.
VipsImage *cvips_wrap_picture(const cvips_picture *picture);

// A source over `bytes` whose reads fail once `token` says stop. NULL when out of memory.
// `bytes` and `token` must outlive the source.
VipsSource *cvips_source_new(const uint8_t *bytes, size_t count, const cvips_token *token);

// A target that collects bytes and whose writes fail once `token` says stop. NULL when out of memory.
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

// --- Kernels: our own pixel loops, run by libvips as one operation each

#define CVIPS_MAXIMUM_INPUTS 3

typedef struct cvips_kernel cvips_kernel;

// Computes `width` pixels of row `y` starting at column `left`. All inputs have `bands` bands.
typedef void (*cvips_row_function)(
    const cvips_kernel *kernel, uint8_t *out, const uint8_t *const *in, int left, int y, int width,
    int bands);

struct cvips_kernel {
    cvips_row_function row;
    const cvips_token *token;
    // Freed with the operation; may be NULL.
    void *tables;
    VipsImage *inputs[CVIPS_MAXIMUM_INPUTS + 1];
};

// A new image computed by `row` from `inputs` (all of one size and band count). Takes ownership of
// `tables` (from g_malloc), also on failure. NULL on failure.
VipsImage *cvips_kernel_image(
    VipsImage *const *inputs, int input_count, cvips_row_function row, void *tables,
    const cvips_token *token);

// `in`, which must be in memory, blurred with `sigma` pixels: a new reference, or NULL.
VipsImage *cvips_blurred(VipsImage *in, double sigma, const cvips_token *token);

struct cvips_render {
    VipsImage *image;
    const cvips_token *token;
};

// Puts `next` (owned; NULL means the step failed) in the place of the render's image.
cvips_status cvips_render_replace(cvips_render *render, VipsImage *next);

#endif
