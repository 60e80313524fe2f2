// The C interface to libvips for Swift, and to libjpeg-turbo for common JPEGs.
//
// libvips' calls take NULL-terminated option lists, which Swift cannot call, and its headers import
// all of glib. So this header declares only plain structs and opaque types, and the .c files beside
// it make all calls into libvips.
//
// Threads: every function may be called from any thread. Pictures are plain memory; no function
// writes to a picture after returning it, so many threads may read one picture at once.
//
// Errors: a call returns a status that says *where* it failed. libvips' own message is not
// available: its error buffer is shared by the whole process, so under load the message may concern
// another picture.

#ifndef CVIPS_H
#define CVIPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define CVIPS_CLOSED_ENUM __attribute__((enum_extensibility(closed)))
// Gives an enumerator its name in Swift.
#define CVIPS_CASE(name) __attribute__((swift_name(#name)))
#else
#define CVIPS_CLOSED_ENUM
#define CVIPS_CASE(name)
#endif

typedef enum CVIPS_CLOSED_ENUM cvips_status {
    CVIPS_STATUS_OK CVIPS_CASE(ok) = 0,
    CVIPS_STATUS_CANCELLED CVIPS_CASE(cancelled),
    CVIPS_STATUS_TIMED_OUT CVIPS_CASE(timedOut),
    // libvips could not start, or this build of libvips lacks a required part.
    CVIPS_STATUS_UNAVAILABLE CVIPS_CASE(unavailable),
    CVIPS_STATUS_OUT_OF_MEMORY CVIPS_CASE(outOfMemory),
    // The step itself failed: reading the header, decoding, filtering or encoding, depending on the
    // function.
    CVIPS_STATUS_FAILED CVIPS_CASE(failed),
    // A picture could be decoded, but a part of it would be missing or wrong.
    CVIPS_STATUS_DAMAGED CVIPS_CASE(damaged)
} cvips_status;

typedef enum CVIPS_CLOSED_ENUM cvips_format {
    CVIPS_FORMAT_JPEG CVIPS_CASE(jpeg) = 0,
    CVIPS_FORMAT_PNG CVIPS_CASE(png),
    CVIPS_FORMAT_WEBP CVIPS_CASE(webp),
    CVIPS_FORMAT_GIF CVIPS_CASE(gif),
    CVIPS_FORMAT_TIFF CVIPS_CASE(tiff),
    // Pictures in HEVC (HEIC) or another codec in the container HEIF.
    CVIPS_FORMAT_HEIF CVIPS_CASE(heif),
    // Pictures in AV1 in the same container.
    CVIPS_FORMAT_AVIF CVIPS_CASE(avif)
} cvips_format;

// --- Process and threads

// Starts libvips once for the process; later calls are cheap and return the same status.
cvips_status cvips_setup(void);

// Exchanges the variable `stderr` of the whole process, once, for a stream that drops the lines
// that the decoders behind libheif write, and passes everything else on to file descriptor 2. The
// new stream has no descriptor of its own: fileno(stderr) is -1 from then on. Only a program may
// decide that, before it starts threads. Without the GNU C library, nothing happens.
void cvips_silence_decoders(void);

// --- Cancellation: a flag, a deadline and a limit of processor time; safe to use from any thread

typedef struct cvips_token cvips_token;

// Makes a token. `deadline` is in nanoseconds from now. `processor_time`, in nanoseconds, is the
// processor time that all calls with the token may use together; the time in which a thread waits
// for a processor does not count. A negative number means no limit. NULL when out of memory.
cvips_token *cvips_token_new(int64_t deadline, int64_t processor_time);
void cvips_token_free(cvips_token *token);
void cvips_token_cancel(cvips_token *token);
bool cvips_token_is_cancelled(const cvips_token *token);
// Returns OK, CANCELLED or TIMED_OUT. A NULL token is always OK.
cvips_status cvips_token_check(const cvips_token *token);

// --- Pixels and bytes

// Packed rows, no padding; 3 bands are RGB, 4 are RGB and straight alpha. The frames of an
// animation or the pages of a document have the same size and follow one another in memory.
typedef struct cvips_picture {
    uint8_t *pixels;
    // The size of one frame.
    int32_t width;
    int32_t height;
    int32_t bands;
    // The bytes of a sample: 1, or 2 in the machine's byte order.
    int32_t depth;
    int32_t frames;
} cvips_picture;

typedef struct cvips_bytes {
    uint8_t *bytes;
    size_t count;
} cvips_bytes;

// Allocates a picture of the shape of `out`, whose `pixels` are ignored. The pixels are not
// initialized.
cvips_status cvips_picture_new(cvips_picture *out);
// The number of bytes of a picture's pixels.
size_t cvips_picture_size(const cvips_picture *picture);
// One frame of a picture, in the picture's own memory.
cvips_picture cvips_picture_frame(const cvips_picture *picture, int32_t frame);
// Frees the memory of a picture or an encoded file.
void cvips_free(uint8_t *memory);

// The metadata of a file: EXIF without its orientation and its thumbnail, XMP, IPTC, comments, the
// resolution, the durations of an animation's frames, and an sRGB profile if the file had a
// profile. Immutable.
typedef struct cvips_metadata cvips_metadata;

void cvips_metadata_free(cvips_metadata *metadata);

// --- Reading

typedef struct cvips_info {
    // The size as stored, before `orientation` is applied.
    int32_t width;
    int32_t height;
    // EXIF orientation, 1...8.
    int32_t orientation;
    int32_t frames;
    bool has_alpha;
    // The bytes of a sample: 1 or 2.
    int32_t depth;
    bool is_gray;
    bool has_exif, has_xmp, has_iptc;
    // Whether the samples are floating-point numbers, or the colors those of four inks.
    bool is_float, is_cmyk;
    // Whether EXIF, and no profile, says that the colors are Adobe RGB.
    bool is_adobe_rgb;
    // What is lost with everything but the picture itself: a map of brighter light, the video of a
    // motion photo, and light brighter than white in the picture.
    bool has_gain_map, has_video, is_hdr;
    // Whether this is a progressive JPEG or an interlaced PNG, which cannot be decoded in strips.
    bool is_progressive;
    // The maximum number of bytes that the decoder buffers for the whole picture, for any box and
    // in addition to the result: the coefficients of a progressive JPEG, or the pixels of an
    // interlaced PNG.
    int64_t buffered_bytes;
} cvips_info;

// Reads the header with the loader of `format` only.
cvips_status cvips_inspect(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_info *out);

// The parts of a header that are blocks of bytes.
typedef enum CVIPS_CLOSED_ENUM cvips_header_part {
    // A packet of XMP.
    CVIPS_HEADER_PART_XMP CVIPS_CASE(xmp) = 0,
    // The small JPEG in the EXIF block.
    CVIPS_HEADER_PART_THUMBNAIL CVIPS_CASE(thumbnail)
} cvips_header_part;

// Receives what a header says of a photo. All arguments are valid only during the call.
typedef struct cvips_header_visitor {
    // The name of an EXIF entry, such as "exif-ifd0-Model", and its text as libvips writes it: the
    // value, and in parentheses the value for people, the type and the size.
    void (*entry)(void *context, const char *name, const char *text);
    void (*part)(void *context, cvips_header_part part, const uint8_t *bytes, size_t count);
} cvips_header_visitor;

// Does what cvips_inspect does, and calls `visitor` with each EXIF entry and each part of the header.
// The EXIF of TIFF is not read.
cvips_status cvips_read_header(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    const cvips_header_visitor *visitor, void *context, cvips_info *out);

typedef struct cvips_decode_options {
    // The box that the picture is shrunk to fit, never enlarged; 0 means "no bound".
    int32_t box_width, box_height;
    // Whether 16-bit samples stay 16-bit, and whether all frames and the metadata are read.
    bool keeps_depth, keeps_frames, keeps_metadata;
    // Whether missing or wrong data is no error.
    bool accepts_damage;
    // A JPEG that has the EXIF block of a TIFF, which libvips does not read; NULL for none.
    const uint8_t *exif_holder;
    size_t exif_holder_count;
} cvips_decode_options;

typedef struct cvips_decoded {
    cvips_picture picture;
    // NULL if the metadata was not requested.
    cvips_metadata *metadata;
} cvips_decoded;

// Decodes a picture, turned upright, in sRGB. Alpha is kept unless every pixel is opaque. `info` is
// the result of cvips_inspect for the same bytes and format. The calling thread does all the work.
// The result has one frame only if the frames differ in size, or if libvips cannot read them.
cvips_status cvips_decode(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_info *info,
    const cvips_decode_options *options, const cvips_token *token, cvips_decoded *out);

// --- Filtering: make a render, add steps, finish. Only one thread at a time may use a render.

typedef struct cvips_render cvips_render;

// Begins a render of a picture with one frame. The pixels of `in`, and the token, must outlive the
// render. NULL when out of memory.
cvips_render *cvips_render_new(const cvips_picture *in, const cvips_token *token);
// Begins a render of a picture with one frame that works in the pixels of the picture and owns
// them. NULL when out of memory; then the pixels still belong to the caller.
cvips_render *cvips_render_new_in_place(const cvips_picture *picture, const cvips_token *token);
void cvips_render_free(cvips_render *render);

// Tone in linear light: out = in + intensity * (gain * luminance^exponent - in), for each of R, G,
// B.
cvips_status cvips_render_tone(
    cvips_render *render, double intensity, const double gain[3], const double exponent[3]);

// The entries of a curve: a level for each sample of an 8-bit picture, and points between which a
// curve of a 16-bit picture is interpolated.
enum { CVIPS_CURVE_LEVELS = 256, CVIPS_CURVE_POINTS = 4097 };

// A row-major 3x3 matrix on encoded values, then three curves (R, then G, then B). The curves have
// CVIPS_CURVE_LEVELS entries from 0 to 255 for an 8-bit picture, and CVIPS_CURVE_POINTS entries
// from 0 to 65535 for a 16-bit picture.
cvips_status cvips_render_recolor(
    cvips_render *render, const double matrix[9], const uint16_t *curves);

// A table of colors for evenly spaced values from `minimum` to `maximum` of each channel; values
// outside are clamped.
typedef struct cvips_table {
    // Four finite numbers for each entry, of which the last is ignored; NULL for no table.
    const float *entries;
    // The number of entries for a channel, at least 2. The entries of a cube are this number cubed,
    // of which red changes fastest.
    int32_t size;
    // For red, green and blue; each minimum is less than the maximum.
    float minimum[3], maximum[3];
} cvips_table;

// Curves for the three channels, then a cube, on encoded values. Either may be missing.
typedef struct cvips_look {
    cvips_table curves, cube;
    // 0 leaves the picture unchanged, 1 is the look as given.
    float intensity;
} cvips_look;

// Changes colors as a look says; alpha is kept.
cvips_status cvips_render_look(cvips_render *render, const cvips_look *look);

// Darkens outwards from `start` (share of the half diagonal, 0...1) to 1 - amount at the corner.
cvips_status cvips_render_vignette(cvips_render *render, double amount, double start);

// Gaussian blur; `sigma` is in pixels.
cvips_status cvips_render_blur(cvips_render *render, double sigma);

// A blur that grows with the distance from a sharp horizontal band. `centre`, `band` and
// `transition` are shares of the height; `sigma` is the blur at the end of the transition, in
// pixels.
cvips_status cvips_render_tilt_shift(
    cvips_render *render, double centre, double band, double transition, double sigma);

// Unsharp mask on luma; `sigma` is in pixels.
cvips_status cvips_render_sharpen(cvips_render *render, double sigma, double amount);

cvips_status cvips_render_finish(cvips_render *render, cvips_picture *out);

// --- Writing

typedef struct cvips_encode_options {
    cvips_format format;
    // 1...100; lossless formats ignore it.
    int32_t quality;
    // Whether to write one gray channel; red, green and blue are equal.
    bool is_gray;
    // Written as far as the format can express it; NULL for a file without metadata.
    const cvips_metadata *metadata;
} cvips_encode_options;

// Whether this build of libvips can encode the format. The first call for HEIF or AVIF encodes a
// small picture, because the encoders are optional parts.
bool cvips_can_encode(cvips_format format);

// Encodes a picture. A JPEG without metadata is written on the calling thread. libvips runs the
// other encoders on threads of its own, of which only one computes at a time, while the caller
// waits. (The encoders of HEIF and AVIF use more threads.) Formats without alpha get the picture on
// white; formats without 16-bit samples get the nearest 8-bit ones; formats without frames get the
// first frame.
cvips_status cvips_encode(
    const cvips_picture *in, const cvips_encode_options *options, const cvips_token *token,
    cvips_bytes *out);

#endif
