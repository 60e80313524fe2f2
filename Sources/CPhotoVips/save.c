#ifdef PhotoImaging
#include "internal.h"

#include <pthread.h>

static int save_jpeg(VipsImage *image, int quality, bool strip, VipsTarget *target) {
    double white[3] = {255, 255, 255};
    VipsArrayDouble *background = vips_array_double_new(white, 3);
    int failed = vips_jpegsave_target(
        image, target, "Q", quality, "strip", strip, "background", background, NULL);
    vips_area_unref(VIPS_AREA(background));
    return failed;
}

// The quality of an encoder whose scale is not that of JPEG. The encoders of HEIF and AVIF have 50
// as their default where JPEG has 75; with the numbers of JPEG, their files would have twice the
// size of those of telephones. At JPEG's 88, a screenshot of 1,000 x 657 pixels has 121 kB and 38.8
// dB; HEIF has 80 kB and 41.0 dB at 59, AVIF 40 kB and 37.1 dB at 59, 84 kB and 41.3 dB at 88.
static int codec_quality(int quality, int at_90) {
    int own = quality <= 90 ? quality * at_90 / 90 : at_90 + (quality - 90) * (100 - at_90) / 10;
    return own < 1 ? 1 : own;
}

// --- PNG with few colors

enum { MOST_COLORS = 256, COLOR_SLOTS = 1024 };

// Whether each sample of a gray picture has one of the values of so many bits.
static bool gray_fits(const cvips_picture *picture, int bits) {
    const int step = 255 / ((1 << bits) - 1);
    const size_t count = (size_t)picture->width * picture->height;
    for (size_t i = 0; i < count; i++)
        if (picture->pixels[i * picture->bands] % step) return false;
    return true;
}

// The number of colors of an opaque picture; MOST_COLORS + 1 if there are more.
static int count_colors(const cvips_picture *picture) {
    uint32_t slots[COLOR_SLOTS] = {0};
    int colors = 0;
    uint32_t latest = 0;
    const size_t count = (size_t)picture->width * picture->height;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = picture->pixels + i * 3;
        // Never 0, which stands for an empty slot.
        const uint32_t color = (1u << 24) | ((uint32_t)p[0] << 16) | ((uint32_t)p[1] << 8) | p[2];
        if (color == latest) continue;
        latest = color;
        uint32_t slot = (color * 2654435761u) >> 22;
        while (slots[slot] && slots[slot] != color) slot = (slot + 1) % COLOR_SLOTS;
        if (slots[slot]) continue;
        if (++colors > MOST_COLORS) return colors;
        slots[slot] = color;
    }
    return colors;
}

// The number of bits of a sample or of an index into a palette with which a PNG holds the picture
// without a loss; 0 for all bits, without a palette.
static int png_bits(const cvips_picture *picture, bool is_gray, bool *has_palette) {
    *has_palette = false;
    if (picture->depth != 1 || picture->frames != 1 || picture->bands != 3) return 0;
    if (is_gray) {
        for (int bits = 1; bits < 8; bits *= 2)
            if (gray_fits(picture, bits)) return bits;
        return 0;
    }
    const int colors = count_colors(picture);
    if (colors > MOST_COLORS) return 0;
    *has_palette = true;
    int bits = 1;
    while ((1 << bits) < colors) bits *= 2;
    return bits;
}

// Whether a file has exactly the pixels of a picture.
static bool has_pixels(VipsImage *image, const void *bytes, size_t count) {
    VipsImage *all = vips_image_new();
    VipsImage **t = (VipsImage **)vips_object_local_array(VIPS_OBJECT(all), 3);
    double largest = 1;
    bool is_same = !vips_pngload_buffer((void *)bytes, count, &t[0], NULL) &&
        t[0]->Bands == image->Bands && t[0]->BandFmt == image->BandFmt &&
        !vips_subtract(image, t[0], &t[1], NULL) && !vips_abs(t[1], &t[2], NULL) &&
        !vips_max(t[2], &largest, NULL) && largest == 0;
    g_object_unref(all);
    if (!is_same) vips_error_clear();
    return is_same;
}

// --- PNG with many colors

// The size of some rows as a PNG with a filter, without metadata; SIZE_MAX if that fails.
static size_t size_of_rows(VipsImage *image, int top, int rows, int filter) {
    VipsImage *strip = NULL;
    void *bytes = NULL;
    size_t count = 0;
    int failed = vips_extract_area(image, &strip, 0, top, image->Xsize, rows, NULL) ||
        vips_pngsave_buffer(strip, &bytes, &count, "strip", TRUE, "filter", filter, NULL);
    g_free(bytes);
    VIPS_UNREF(strip);
    return failed ? SIZE_MAX : count;
}

// The row filter with which strips of the picture become smallest. A filter replaces each sample by
// its difference from neighbors (PNG, third edition, 9.2). Photographs then become much smaller,
// drawings and screenshots often larger, so that no filter is best for all.
static int png_filter(VipsImage *image, const cvips_token *token) {
    enum { STRIPS = 3, ROWS = 16 };
    static const int filters[] = {
        VIPS_FOREIGN_PNG_FILTER_NONE, VIPS_FOREIGN_PNG_FILTER_SUB, VIPS_FOREIGN_PNG_FILTER_UP,
        VIPS_FOREIGN_PNG_FILTER_AVG, VIPS_FOREIGN_PNG_FILTER_PAETH, VIPS_FOREIGN_PNG_FILTER_ALL};
    const bool is_whole = image->Ysize <= STRIPS * ROWS;
    int best = VIPS_FOREIGN_PNG_FILTER_NONE;
    size_t smallest = SIZE_MAX;
    for (size_t f = 0; f < G_N_ELEMENTS(filters); f++) {
        size_t sum = 0;
        for (int i = 0; i < (is_whole ? 1 : STRIPS); i++) {
            if (cvips_token_check(token) != CVIPS_STATUS_OK) return best;
            const int top = is_whole ? 0 : (image->Ysize - ROWS) * (i + 1) / (STRIPS + 1);
            const size_t size =
                size_of_rows(image, top, is_whole ? image->Ysize : ROWS, filters[f]);
            sum = size == SIZE_MAX || sum == SIZE_MAX ? SIZE_MAX : sum + size;
        }
        if (sum >= smallest) continue;
        smallest = sum;
        best = filters[f];
    }
    if (smallest == SIZE_MAX) vips_error_clear();
    return best;
}

// Writes a PNG with few bits for each pixel if the picture has few colors, as the files of screens
// and scanners do. The palette comes from a library that may approximate colors, so the result is
// compared with the picture.
static int save_png(
    VipsImage *image, const cvips_picture *shape, bool is_gray, bool strip,
    const cvips_token *token, VipsTarget *target) {
    bool has_palette;
    const int bits = png_bits(shape, is_gray, &has_palette);
    if (bits > 0) {
        void *bytes = NULL;
        size_t count = 0;
        const int failed = vips_pngsave_buffer(
            image, &bytes, &count, "strip", strip, "bitdepth", bits, "palette", has_palette, "Q",
            100, "dither", 0.0, NULL);
        const bool is_exact = !failed && has_pixels(image, bytes, count);
        const int written = is_exact ? vips_target_write(target, bytes, count) : -1;
        g_free(bytes);
        if (is_exact) {
            vips_target_finish(target);
            return written;
        }
        vips_error_clear();
    }
    return vips_pngsave_target(
        image, target, "strip", strip, "filter", png_filter(image, token), NULL);
}

static int save(
    VipsImage *image, const cvips_picture *shape, const cvips_encode_options *options, bool strip,
    const cvips_token *token, VipsTarget *target) {
    const int quality = options->quality;
    switch (options->format) {
    case CVIPS_FORMAT_JPEG: return save_jpeg(image, quality, strip, target);
    case CVIPS_FORMAT_PNG: return save_png(image, shape, options->is_gray, strip, token, target);
    case CVIPS_FORMAT_WEBP:
        // Effort 2 takes less than half the time of the default 4, for files a few percent larger.
        return vips_webpsave_target(
            image, target, "Q", quality, "effort", 2, "strip", strip, NULL);
    case CVIPS_FORMAT_GIF: return vips_gifsave_target(image, target, "strip", strip, NULL);
    case CVIPS_FORMAT_TIFF:
        return vips_tiffsave_target(
            image, target, "compression", VIPS_FOREIGN_TIFF_COMPRESSION_DEFLATE, "predictor",
            VIPS_FOREIGN_TIFF_PREDICTOR_HORIZONTAL, "strip", strip, NULL);
    case CVIPS_FORMAT_HEIF:
        return vips_heifsave_target(
            image, target, "Q", codec_quality(quality, 60), "compression",
            VIPS_FOREIGN_HEIF_COMPRESSION_HEVC, "bitdepth",
            image->BandFmt == VIPS_FORMAT_USHORT ? 10 : 8, "strip", strip, NULL);
    case CVIPS_FORMAT_AVIF:
        return vips_heifsave_target(
            image, target, "Q", codec_quality(quality, 68), "compression",
            VIPS_FOREIGN_HEIF_COMPRESSION_AV1, "effort", 2, "bitdepth",
            image->BandFmt == VIPS_FORMAT_USHORT ? 12 : 8, "strip", strip, NULL);
    }
    return -1;
}

static bool can_have_frames(cvips_format format) {
    return format == CVIPS_FORMAT_GIF || format == CVIPS_FORMAT_WEBP ||
        format == CVIPS_FORMAT_TIFF;
}

static bool can_have_16_bits(cvips_format format) {
    return format == CVIPS_FORMAT_PNG || format == CVIPS_FORMAT_TIFF ||
        format == CVIPS_FORMAT_HEIF || format == CVIPS_FORMAT_AVIF;
}

// Makes a picture with the nearest 8-bit samples.
static cvips_status to_8_bits(const cvips_picture *in, cvips_picture *out) {
    *out = *in;
    out->depth = 1;
    cvips_status status = cvips_picture_new(out);
    if (status != CVIPS_STATUS_OK) return status;
    const uint16_t *samples = (const uint16_t *)in->pixels;
    for (size_t i = 0; i < cvips_picture_size(out); i++)
        out->pixels[i] = (uint8_t)((samples[i] * 255u + 32767) / 65535);
    return status;
}

// Keeps one of the equal channels, and alpha.
static int to_gray(VipsObject *owner, VipsImage *in, VipsImage **out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 3);
    if (vips_extract_band(in, &t[0], 0, NULL)) return -1;
    VipsImage *gray = t[0];
    if (in->Bands == 4) {
        if (vips_extract_band(in, &t[1], 3, NULL) || vips_bandjoin2(t[0], t[1], &t[2], NULL))
            return -1;
        gray = t[2];
    }
    return vips_copy(
        gray, out, "interpretation",
        in->BandFmt == VIPS_FORMAT_USHORT ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_B_W,
        NULL);
}

static cvips_status encode_image(
    VipsImage *picture, const cvips_picture *shape, const cvips_encode_options *options,
    const cvips_token *token, cvips_bytes *out) {
    VipsTarget *target = cvips_target_new(token);
    if (!target) return CVIPS_STATUS_OUT_OF_MEMORY;
    cvips_watch(picture, token);
    VipsObject *owner = VIPS_OBJECT(vips_image_new());
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 1);
    // A copy, because metadata belongs to this file and not to the picture.
    int failed =
        options->is_gray ? to_gray(owner, picture, &t[0]) : vips_copy(picture, &t[0], NULL);
    if (!failed) {
        if (options->metadata)
            cvips_metadata_apply(options->metadata, t[0], options->format, options->is_gray);
        if (shape->frames > 1) vips_image_set_int(t[0], VIPS_META_PAGE_HEIGHT, shape->height);
        // Encoders write resolutions and durations in any case. If nothing else is to be written,
        // they would add an EXIF block of their own.
        bool strip = !options->metadata || !cvips_metadata_has_texts(options->metadata);
        failed = save(t[0], shape, options, strip, token, target);
    }
    cvips_status status = failed ? cvips_failure(token, CVIPS_STATUS_FAILED)
                                 : cvips_token_check(token);
    if (status == CVIPS_STATUS_OK) *out = cvips_target_take(target);
    g_object_unref(owner);
    g_object_unref(target);
    return status;
}

// Whether the file is a JPEG with nothing but pixels and a resolution, which needs no libvips.
static bool is_plain_jpeg(const cvips_encode_options *options) {
    return options->format == CVIPS_FORMAT_JPEG &&
        (!options->metadata || !cvips_metadata_has_texts(options->metadata));
}

cvips_status cvips_encode(
    const cvips_picture *in, const cvips_encode_options *options, const cvips_token *token,
    cvips_bytes *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    cvips_picture picture = can_have_frames(options->format) ? *in : cvips_picture_frame(in, 0);
    cvips_picture reduced = {.pixels = NULL};
    if (picture.depth == 2 && !can_have_16_bits(options->format)) {
        status = to_8_bits(&picture, &reduced);
        if (status != CVIPS_STATUS_OK) return status;
        picture = reduced;
    }
    if (is_plain_jpeg(options)) {
        cvips_density density = {.unit = 0, .across = 1, .down = 1};
        if (options->metadata) density = cvips_metadata_density(options->metadata);
        status =
            cvips_jpeg_encode(&picture, options->quality, options->is_gray, density, token, out);
        g_free(reduced.pixels);
        return status;
    }
    VipsImage *image = cvips_wrap_picture(&picture);
    status = image ? encode_image(image, &picture, options, token, out)
                   : CVIPS_STATUS_OUT_OF_MEMORY;
    VIPS_UNREF(image);
    g_free(reduced.pixels);
    return status;
}

// --- Optional encoders

static bool can_encode_heif, can_encode_avif;
static pthread_once_t encoders_once = PTHREAD_ONCE_INIT;

static bool encodes_sample(cvips_format format) {
    enum { SIDE = 64 };
    uint8_t pixels[SIDE * SIDE * 3] = {0};
    const cvips_picture picture = {pixels, SIDE, SIDE, 3, 1, 1};
    const cvips_encode_options options = {.format = format, .quality = 50};
    cvips_bytes bytes = {NULL, 0};
    bool is_encoded = cvips_encode(&picture, &options, NULL, &bytes) == CVIPS_STATUS_OK;
    g_free(bytes.bytes);
    return is_encoded;
}

static void find_encoders(void) {
    can_encode_heif = encodes_sample(CVIPS_FORMAT_HEIF);
    can_encode_avif = encodes_sample(CVIPS_FORMAT_AVIF);
}

bool cvips_can_encode(cvips_format format) {
    if (format != CVIPS_FORMAT_HEIF && format != CVIPS_FORMAT_AVIF) return true;
    pthread_once(&encoders_once, find_encoders);
    return format == CVIPS_FORMAT_HEIF ? can_encode_heif : can_encode_avif;
}
#endif
