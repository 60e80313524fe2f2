// Declarations shared by the .c files of this target; not visible to Swift.

#ifndef CVIPS_INTERNAL_H
#define CVIPS_INTERNAL_H

#include "CPhotoVips.h"

#include <vips/vips.h>

// libvips runs encoders on a thread of its own and synchronizes with that thread through glib's
// mutexes. These are not pthread mutexes, so thread sanitizer does not see the synchronization.
// These two macros declare it: writes before `CVIPS_RELEASE(p)` are visible after
// `CVIPS_ACQUIRE(p)`.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define CVIPS_RELEASE(pointer) __tsan_release((void *)(pointer))
#define CVIPS_ACQUIRE(pointer) __tsan_acquire((void *)(pointer))
#endif
#endif
// Sanitizers cannot run before the loader has chosen among the variants of a function.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define CVIPS_HAS_SANITIZER 1
#endif
#endif
#ifndef CVIPS_HAS_SANITIZER
#define CVIPS_HAS_SANITIZER 0
#endif
// Compiles a function a second time for processors with vectors of eight floats; the loader picks
// the one for this machine.
#if defined(__x86_64__) && defined(__linux__) && !CVIPS_HAS_SANITIZER
#define CVIPS_FOR_EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define CVIPS_FOR_EACH_PROCESSOR
#endif
#ifndef CVIPS_RELEASE
#define CVIPS_RELEASE(pointer) ((void)(pointer))
#define CVIPS_ACQUIRE(pointer) ((void)(pointer))
#endif

// The status to return after a failed libvips call: the reason in `token` if the token stopped the
// call, otherwise `otherwise`. Clears libvips' error buffer, which would grow without bound.
cvips_status cvips_failure(const cvips_token *token, cvips_status otherwise);

// Marks the start of a call for `token` on this thread: earlier work of the thread does not count
// as the token's processor time. Returns the same as cvips_token_check.
cvips_status cvips_token_enter(const cvips_token *token);

// Makes `image`, and everything computed through it, poll `token` while libvips evaluates it.
void cvips_watch(VipsImage *image, const cvips_token *token);

// Evaluates `image` into new memory on the calling thread, turned according to an EXIF orientation.
// The image shows `frames` frames, one below the other.
cvips_status cvips_write_picture(
    VipsImage *image, int orientation, int frames, const cvips_token *token, cvips_picture *out);

// Opens the bytes with the loader of the format. With `all_frames`, the frames are one below the
// other in one tall image.
int cvips_open_image(
    VipsSource *source, cvips_format format, bool all_frames, bool accepts_damage, VipsImage **out);

// Opens the first frame of the bytes to read its header, whatever is wrong with the pixels. The
// caller unrefs the image.
cvips_status cvips_open_header(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    VipsImage **out);

// Calls `visitor` with the entries and the parts of an opened image.
void cvips_visit_header(VipsImage *image, const cvips_header_visitor *visitor, void *context);

// What distinguishes the pixels of a copy from those of its file.
typedef struct cvips_changes {
    // Whether the pixels were converted to sRGB, so that the profile no longer describes them.
    bool is_converted;
    // Whether the picture was turned or mirrored.
    bool is_turned;
    // The size of the copy as a share of the file's.
    double scale;
} cvips_changes;

// The metadata of an opened image, for a copy. The EXIF block is that of `exif_holder` if that is
// not NULL. NULL when out of memory.
cvips_metadata *cvips_metadata_new(
    VipsImage *image, VipsImage *exif_holder, const cvips_changes *changes);
// Whether there is metadata other than the resolution and the durations of frames.
bool cvips_metadata_has_texts(const cvips_metadata *metadata);
// Adds metadata to an image for the encoder of a format.
void cvips_metadata_apply(
    const cvips_metadata *metadata, VipsImage *image, cvips_format format, bool is_gray);

// The number of frames of a PNG, of which libvips reads only the first.
int cvips_png_frames(const uint8_t *bytes, size_t count);

// Returns how many warnings libvips has logged on this thread since the last call.
unsigned cvips_take_warnings(void);

// The layout of a JPEG according to its markers.
typedef struct cvips_jpeg_layout {
    // The size of all coefficients if several scans need them in memory at once, otherwise 0.
    int64_t coefficient_bytes;
    // The number of scans; some high number if there are many more than in any real file.
    int scans;
    // Whether the scans in the file make up a whole picture.
    bool has_all_scans;
} cvips_jpeg_layout;

// Walks over the markers without decoding a pixel. Takes less than a millisecond a megabyte.
cvips_jpeg_layout cvips_jpeg_read_layout(const uint8_t *bytes, size_t count);

// Whether a warning of libjpeg says that a part of the picture is missing or wrong.
bool cvips_jpeg_is_damage(int message);

// Decodes a JPEG again to check that its data is complete; DAMAGED if a part is missing or wrong.
// For files with a libvips warning, which may be harmless.
cvips_status cvips_jpeg_examine(const uint8_t *bytes, size_t count, const cvips_token *token);

// Decodes a JPEG with libjpeg-turbo alone, which takes about half the time of libvips. The box is
// the one for the picture as stored. Returns UNAVAILABLE for a picture that needs libvips: one with
// a profile other than sRGB, in CMYK, or that is turned without being shrunk.
cvips_status cvips_jpeg_decode(
    const uint8_t *bytes, size_t count, const cvips_info *info, int box_width, int box_height,
    const cvips_token *token, cvips_picture *out);

// The resolution of a picture in the form of JFIF: the unit is 0 for none, 1 for an inch and 2 for
// a centimetre.
typedef struct cvips_density {
    uint8_t unit;
    uint16_t across, down;
} cvips_density;
// The resolution of the file that the metadata belongs to.
cvips_density cvips_metadata_density(const cvips_metadata *metadata);

// Encodes an 8-bit picture as a JPEG without metadata other than the resolution.
cvips_status cvips_jpeg_encode(
    const cvips_picture *in, int quality, bool is_gray, cvips_density density,
    const cvips_token *token, cvips_bytes *out);

// Turns a picture upright according to an EXIF orientation.
cvips_status cvips_turn_picture(cvips_picture *picture, int orientation);

// Shrinks a picture while its rows are decoded. Rows of the input have four bytes a pixel, of which
// the last is ignored; the result is RGB.
typedef struct cvips_shrink cvips_shrink;
enum { CVIPS_SHRINK_BANDS = 4 };
// Makes the shrinking of a picture of the given size to the size of `out`, which is not larger and
// must outlive the shrinking. Each pixel of the input is the mean of a square of `square` pixels a
// side; the last squares of a row and of a column may be incomplete. NULL when out of memory.
cvips_shrink *cvips_shrink_new(int width, int height, int square, const cvips_picture *out);
void cvips_shrink_free(cvips_shrink *shrink);
// The memory for the next row of the input; call cvips_shrink_give_row when it is filled. After the
// last row, the result is complete.
uint8_t *cvips_shrink_next_row(cvips_shrink *shrink);
void cvips_shrink_give_row(cvips_shrink *shrink);

// Shrinks an image of three 8-bit bands to the given size, which is smaller, on the calling thread.
// UNAVAILABLE if the image has another form.
cvips_status cvips_shrink_image(
    VipsImage *image, int width, int height, const cvips_token *token, cvips_picture *out);

// Wraps the picture's own memory in a libvips image, without a copy; the frames are one below the
// other. NULL when out of memory.
VipsImage *cvips_wrap_picture(const cvips_picture *picture);

// Makes a source over `bytes` whose reads fail once `token` says stop. NULL when out of memory.
// `bytes` and `token` must outlive the source.
VipsSource *cvips_source_new(const uint8_t *bytes, size_t count, const cvips_token *token);

// Makes a target that collects bytes and whose writes fail once `token` says stop. NULL when out of
// memory.
VipsTarget *cvips_target_new(const cvips_token *token);
// Takes the written bytes; the target is empty afterwards.
cvips_bytes cvips_target_take(VipsTarget *target);

// The conversion between encoded and linear values of sRGB, from 0 to 1.
double cvips_decode_srgb(double value);
double cvips_encode_srgb(double value);

// Whether an ICC profile describes sRGB, under any name.
bool cvips_profile_is_srgb(const uint8_t *profile, size_t count);

// Whether a profile has a table for the perceptual intent only, which stands for all intents then.
// libvips would take another profile for the relative one.
bool cvips_profile_is_perceptual(const uint8_t *profile, size_t count);

// The color space that an ICC profile describes, as its four characters, or 0.
uint32_t cvips_profile_space(const uint8_t *profile, size_t count);

// The chromaticities of red, green and blue, and of white.
typedef struct cvips_primaries {
    double colors[3][2], white[2];
} cvips_primaries;

// Makes a profile of a display. `curve` maps an encoded value from 0 to 1, and `parameter`, to
// linear light; light above 1 becomes 1. NULL for primaries that are none. The caller unrefs the
// profile.
GByteArray *cvips_profile_make(
    const cvips_primaries *primaries, bool is_gray, double (*curve)(double, double),
    double parameter);

// Gives an opened image a profile if its file names a color space in another way. `bytes` are the
// file.
void cvips_name_space(
    VipsImage *image, cvips_format format, const uint8_t *bytes, size_t count);
// Whether an opened image is in Adobe RGB according to its EXIF block, and has no profile.
bool cvips_is_adobe_rgb(VipsImage *image, cvips_format format);
// Whether a PNG has light brighter than white.
bool cvips_png_is_hdr(const uint8_t *bytes, size_t count);

// Whether the file has a gain map, or a video, beside its picture.
bool cvips_has_gain_map(
    VipsImage *image, cvips_format format, const uint8_t *bytes, size_t count);
bool cvips_has_video(VipsImage *image);

#define CVIPS_SPACE_RGB 0x52474220u
#define CVIPS_SPACE_GRAY 0x47524159u
#define CVIPS_SPACE_CMYK 0x434D594Bu

// --- Filters. Our own loops over memory, run by the calling thread. libvips would run them on a
// thread of its own, without the caller's priority and processor time accounting, and could not
// stream: the picture is in memory already.

struct cvips_render {
    // The caller's picture.
    cvips_picture in;
    // The result of the steps so far; has no pixels before the first step.
    cvips_picture own;
    const cvips_token *token;
};

// The current picture.
static inline const cvips_picture *cvips_render_current(const cvips_render *render) {
    return render->own.pixels ? &render->own : &render->in;
}

// Computes one row. `in` holds the same row of the current picture, which may be `out` itself, and
// of the step's other pictures. Rows of 16-bit samples are passed as bytes too.
typedef void (*cvips_row_function)(
    const void *tables, uint8_t *out, const uint8_t *const *in, int y, int width, int bands);

// The functions of a step for pictures with 8-bit and with 16-bit samples.
typedef struct cvips_row_functions {
    cvips_row_function eight, sixteen;
} cvips_row_functions;

// Runs a step that makes each row from the same row of the current picture and of up to two other
// pictures, all with the same size, band count and depth. Checks the token before every row.
cvips_status cvips_render_rows(
    cvips_render *render, cvips_row_functions functions, const void *tables,
    const cvips_picture *first, const cvips_picture *second);

// Makes the row function `step_row` from a function that computes the red, green and blue of one
// pixel from the same pixel: `step_pixel(tables, out, in, x, y)`. That function reads all channels
// before it writes one, because `out` and `in` may be the same address. Alpha stays as it is.
//
// For 8-bit samples, there is a loop for each number of bands, which is then a constant: that saves
// up to a fifth of the time. For 16-bit samples, it would cost up to a third.
#define CVIPS_DEFINE_ROW(step, sample)                                                             \
    static inline void step##_pixels(                                                              \
        const void *tables, sample *out, const sample *in, int y, int width, int bands) {          \
        for (int x = 0; x < width; x++, in += bands, out += bands) {                               \
            step##_pixel(tables, out, in, x, y);                                                   \
            if (bands == 4) out[3] = in[3];                                                        \
        }                                                                                          \
    }                                                                                              \
    static void step##_row(                                                                        \
        const void *tables, uint8_t *out_bytes, const uint8_t *const *rows, int y, int width,      \
        int bands) {                                                                               \
        const sample *in = (const sample *)rows[0];                                                \
        sample *out = (sample *)out_bytes;                                                         \
        bool is_8 = sizeof(sample) == 1;                                                           \
        if (is_8 && bands == 4) step##_pixels(tables, out, in, y, width, 4);                       \
        else if (is_8) step##_pixels(tables, out, in, y, width, 3);                                \
        else step##_pixels(tables, out, in, y, width, bands);                                      \
    }

// Runs a step that makes each row from the same row of the current picture, and frees its tables.
cvips_status cvips_render_pixels(cvips_render *render, cvips_row_function row, void *tables);

// The functions for pictures with 16-bit samples of the steps in color.c.
typedef struct cvips_tone {
    double intensity, gain[3], exponent[3];
} cvips_tone;
cvips_status cvips_render_tone_16(cvips_render *render, const cvips_tone *tone);
cvips_status cvips_render_recolor_16(
    cvips_render *render, const double matrix[9], const uint16_t *curves);
cvips_status cvips_render_vignette_16(cvips_render *render, double amount, double start);

// Replaces the current picture by a step's result.
void cvips_render_replace(cvips_render *render, cvips_picture next);

// Makes a new picture: `in` blurred with `sigma` pixels.
cvips_status cvips_blurred(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out);

#endif
