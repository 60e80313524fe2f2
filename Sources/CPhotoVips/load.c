#ifdef PhotoImaging
#include "internal.h"

#include <string.h>

int cvips_open_image(
    VipsSource *source, cvips_format format, bool all_frames, bool accepts_damage,
    VipsImage **out) {
    const VipsAccess access = VIPS_ACCESS_SEQUENTIAL;
    const VipsFailOn fail_on = accepts_damage ? VIPS_FAIL_ON_NONE : VIPS_FAIL_ON_TRUNCATED;
    const int n = all_frames ? -1 : 1;
    // The loader is the one for the magic bytes; libvips never guesses.
    switch (format) {
    case CVIPS_FORMAT_JPEG:
        return vips_jpegload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_PNG:
        return vips_pngload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_WEBP:
        return vips_webpload_source(
            source, out, "access", access, "fail_on", fail_on, "n", n, NULL);
    case CVIPS_FORMAT_GIF:
        return vips_gifload_source(
            source, out, "access", access, "fail_on", fail_on, "n", n, NULL);
    case CVIPS_FORMAT_TIFF:
        return vips_tiffload_source(
            source, out, "access", access, "fail_on", fail_on, "n", n, NULL);
    case CVIPS_FORMAT_HEIF:
    case CVIPS_FORMAT_AVIF:
        return vips_heifload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    }
    return -1;
}

static bool has_flag(VipsImage *image, const char *name) {
    int value = 0;
    return vips_image_get_typeof(image, name) && !vips_image_get_int(image, name, &value) && value;
}

static uint32_t read_32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool has_blob(VipsImage *image, const char *name) {
    return vips_image_get_typeof(image, name) != 0;
}

static bool is_16_bit(VipsImage *image) {
    return image->BandFmt == VIPS_FORMAT_USHORT &&
        (image->Type == VIPS_INTERPRETATION_RGB16 || image->Type == VIPS_INTERPRETATION_GREY16);
}

static bool is_gray(VipsImage *image) {
    return image->Bands <= 2 &&
        (image->Type == VIPS_INTERPRETATION_B_W || image->Type == VIPS_INTERPRETATION_GREY16);
}

int cvips_png_frames(const uint8_t *bytes, size_t count) {
    // Chunks follow the signature of 8 bytes: a length, a name, data and a checksum. The chunk that
    // announces an animation (acTL) precedes the pixels.
    for (size_t at = 8; at + 12 <= count;) {
        size_t length = read_32(bytes + at);
        const uint8_t *name = bytes + at + 4;
        if (!memcmp(name, "IDAT", 4) || length > count - at - 12) return 1;
        if (!memcmp(name, "acTL", 4) && length >= 8)
            return (int)CLAMP(read_32(bytes + at + 8), 1, (uint32_t)G_MAXINT);
        at += 12 + length;
    }
    return 1;
}

// The bytes that the decoder holds of the whole picture in addition to the result. An upper bound
// where the header, as libvips presents it, does not say more.
static int64_t buffered_bytes(
    VipsImage *image, cvips_format format, bool is_interlaced, const uint8_t *bytes, size_t count) {
    int64_t pixels = (int64_t)image->Xsize * image->Ysize;
    switch (format) {
    case CVIPS_FORMAT_JPEG: return cvips_jpeg_read_layout(bytes, count).coefficient_bytes;
    case CVIPS_FORMAT_PNG:
        return is_interlaced ? pixels * (int64_t)VIPS_IMAGE_SIZEOF_PEL(image) : 0;
    // libwebp decodes a lossless file in one piece of 4 bytes per pixel, a lossy file in less.
    case CVIPS_FORMAT_WEBP: return pixels * 4;
    // The previous frame, which this frame may leave visible, and this frame.
    case CVIPS_FORMAT_GIF: return pixels * 8;
    // A single strip or row of tiles may contain the whole picture.
    case CVIPS_FORMAT_TIFF: return pixels * (int64_t)VIPS_IMAGE_SIZEOF_PEL(image);
    // The coded planes, and the colors made from them.
    case CVIPS_FORMAT_HEIF:
    case CVIPS_FORMAT_AVIF: return pixels * 10 * (image->BandFmt == VIPS_FORMAT_USHORT ? 2 : 1);
    }
    return 0;
}

cvips_status cvips_open_header(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    VipsImage **out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    int failed = cvips_open_image(source, format, false, true, out);
    g_object_unref(source);
    return failed ? cvips_failure(token, CVIPS_STATUS_FAILED) : CVIPS_STATUS_OK;
}

static cvips_info info_of(
    VipsImage *image, const uint8_t *bytes, size_t count, cvips_format format) {
    bool is_interlaced = has_flag(image, "interlaced");
    return (cvips_info){
        .width = image->Xsize,
        .height = image->Ysize,
        .orientation = vips_image_get_orientation(image),
        .frames = format == CVIPS_FORMAT_PNG ? cvips_png_frames(bytes, count)
                                             : vips_image_get_n_pages(image),
        .has_alpha = vips_image_hasalpha(image),
        .depth = is_16_bit(image) ? 2 : 1,
        .is_gray = is_gray(image),
        .has_exif = has_blob(image, VIPS_META_EXIF_NAME),
        .has_xmp = has_blob(image, VIPS_META_XMP_NAME) || has_blob(image, "heif-mime-1"),
        .has_iptc =
            has_blob(image, VIPS_META_IPTC_NAME) || has_blob(image, VIPS_META_PHOTOSHOP_NAME),
        .is_float = vips_band_format_isfloat(image->BandFmt),
        .is_cmyk = image->Type == VIPS_INTERPRETATION_CMYK,
        .is_adobe_rgb = cvips_is_adobe_rgb(image, format),
        .has_gain_map = cvips_has_gain_map(image, format, bytes, count),
        .has_video = cvips_has_video(image),
        .is_hdr = format == CVIPS_FORMAT_PNG && cvips_png_is_hdr(bytes, count),
        .is_progressive = is_interlaced || has_flag(image, "jpeg-multiscan"),
        .buffered_bytes = buffered_bytes(image, format, is_interlaced, bytes, count),
    };
}

cvips_status cvips_inspect(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_info *out) {
    return cvips_read_header(bytes, count, format, token, NULL, NULL, out);
}

cvips_status cvips_read_header(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    const cvips_header_visitor *visitor, void *context, cvips_info *out) {
    VipsImage *image = NULL;
    cvips_status status = cvips_open_header(bytes, count, format, token, &image);
    if (status != CVIPS_STATUS_OK) return status;
    *out = info_of(image, bytes, count, format);
    if (visitor) cvips_visit_header(image, visitor, context);
    g_object_unref(image);
    return CVIPS_STATUS_OK;
}
#endif
