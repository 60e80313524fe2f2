#include "internal.h"

#include <string.h>

// Opens the bytes with the loader chosen by the magic bytes, so that libvips never guesses.
static int open_image(VipsSource *source, cvips_format format, VipsImage **out) {
    const VipsAccess access = VIPS_ACCESS_SEQUENTIAL;
    const VipsFailOn fail_on = VIPS_FAIL_ON_TRUNCATED;
    switch (format) {
    case CVIPS_FORMAT_JPEG:
        return vips_jpegload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_PNG:
        return vips_pngload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_WEBP:
        return vips_webpload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_GIF:
        return vips_gifload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_TIFF:
        return vips_tiffload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    case CVIPS_FORMAT_HEIF:
        return vips_heifload_source(source, out, "access", access, "fail_on", fail_on, NULL);
    }
    return -1;
}

static bool has_flag(VipsImage *image, const char *name) {
    int value = 0;
    return vips_image_get_typeof(image, name) && !vips_image_get_int(image, name, &value) && value;
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
    // The coded planes, and the colours made from them.
    case CVIPS_FORMAT_HEIF: return pixels * 10;
    }
    return 0;
}

cvips_status cvips_inspect(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_info *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *image = NULL;
    int failed = open_image(source, format, &image);
    g_object_unref(source);
    if (failed) return cvips_failure(token, CVIPS_STATUS_FAILED);
    bool is_interlaced = has_flag(image, "interlaced");
    *out = (cvips_info){
        .width = image->Xsize,
        .height = image->Ysize,
        .orientation = vips_image_get_orientation(image),
        .frames = vips_image_get_n_pages(image),
        .has_alpha = vips_image_hasalpha(image),
        .is_progressive = is_interlaced || has_flag(image, "jpeg-multiscan"),
        .buffered_bytes = buffered_bytes(image, format, is_interlaced, bytes, count),
    };
    g_object_unref(image);
    return CVIPS_STATUS_OK;
}

// Whether the embedded profile describes the pixels at hand. The shrinking step may already have
// turned CMYK into RGB and left the old profile attached; applying that profile would be wrong.
static bool profile_applies(VipsImage *image, const uint8_t *profile, size_t count) {
    if (image->BandFmt != VIPS_FORMAT_UCHAR && image->BandFmt != VIPS_FORMAT_USHORT) return false;
    switch (cvips_profile_space(profile, count)) {
    case CVIPS_SPACE_RGB:
        return image->Bands >= 3 && image->Type != VIPS_INTERPRETATION_CMYK &&
            !cvips_profile_is_srgb(profile, count);
    case CVIPS_SPACE_GREY: return image->Bands <= 2;
    case CVIPS_SPACE_CMYK: return image->Bands >= 4 && image->Type == VIPS_INTERPRETATION_CMYK;
    default: return false;
    }
}

// Converts to sRGB, 8 bits, 3 or 4 bands. A profile that lcms rejects is ignored, as in browsers.
static int to_srgb(VipsObject *owner, VipsImage *in, VipsImage **out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 4);
    const void *profile = NULL;
    size_t count = 0;
    if (vips_image_get_typeof(in, VIPS_META_ICC_NAME) &&
        !vips_image_get_blob(in, VIPS_META_ICC_NAME, &profile, &count) &&
        profile_applies(in, profile, count) &&
        !vips_icc_transform(
            in, &t[0], "srgb", "embedded", TRUE, "intent", VIPS_INTENT_RELATIVE,
            "black_point_compensation", TRUE, "depth", 8, NULL))
        in = t[0];
    // Every step costs a buffer for each tile, even a step that changes nothing.
    if (in->Type != VIPS_INTERPRETATION_sRGB || in->Coding != VIPS_CODING_NONE) {
        if (vips_colourspace(in, &t[1], VIPS_INTERPRETATION_sRGB, NULL)) return -1;
        in = t[1];
    }
    if (in->BandFmt != VIPS_FORMAT_UCHAR) {
        if (vips_cast_uchar(in, &t[2], NULL)) return -1;
        in = t[2];
    }
    if (in->Bands < 3) {
        vips_error("cvips", "cannot make RGB of %d bands", in->Bands);
        return -1;
    }
    if (in->Bands > 4) return vips_extract_band(in, out, 0, "n", 4, NULL);
    *out = in;
    g_object_ref(in);
    return 0;
}

// Most pictures with an alpha band do not use it. Without the band, they are a quarter smaller and
// every later step is cheaper.
static void drop_opaque_alpha(cvips_picture *picture) {
    if (picture->bands != 4) return;
    size_t count = (size_t)picture->width * (size_t)picture->height;
    uint8_t *pixels = picture->pixels;
    for (size_t i = 0; i < count; i++)
        if (pixels[4 * i + 3] != 255) return;
    for (size_t i = 0; i < count; i++) memmove(pixels + 3 * i, pixels + 4 * i, 3);
    picture->bands = 3;
    uint8_t *smaller = g_try_realloc(pixels, count * 3);
    if (smaller) picture->pixels = smaller;
}

static int box_side(int32_t side) { return side > 0 ? side : VIPS_MAX_COORD; }

// Opens a JPEG or PNG that keeps its size and is already 8-bit RGB. The shrinking call would only
// add steps that change nothing and cost a buffer for each tile. NULL for other pictures.
static VipsImage *open_plain(
    VipsSource *source, cvips_format format, const cvips_info *info, int32_t box_width,
    int32_t box_height) {
    bool swaps = info->orientation >= 5;
    if (format != CVIPS_FORMAT_JPEG && format != CVIPS_FORMAT_PNG) return NULL;
    if ((swaps ? info->height : info->width) > box_side(box_width) ||
        (swaps ? info->width : info->height) > box_side(box_height))
        return NULL;
    VipsImage *image = NULL;
    if (open_image(source, format, &image)) {
        vips_error_clear();
        return NULL;
    }
    if (image->Type == VIPS_INTERPRETATION_sRGB && image->BandFmt == VIPS_FORMAT_UCHAR &&
        image->Coding == VIPS_CODING_NONE)
        return image;
    g_object_unref(image);
    return NULL;
}

static cvips_status decode_source(
    VipsSource *source, VipsObject *owner, cvips_format format, const cvips_info *info, int32_t box_width, int32_t box_height,
    const cvips_token *token, cvips_picture *out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 2);
    // The picture is turned upright when its pixels are written, so the box is turned here.
    // Otherwise libvips would first evaluate the whole picture into memory, on its own thread.
    bool swaps = info->orientation >= 5;
    t[0] = open_plain(source, format, info, box_width, box_height);
    // The shrinking call ignores its own "fail on" setting, so the setting is passed as a loader
    // option. Without it, half a download would decode successfully, with a grey bottom.
    if (!t[0] && vips_thumbnail_source(
            source, &t[0], box_side(swaps ? box_height : box_width), "height",
            box_side(swaps ? box_width : box_height), "size", VIPS_SIZE_DOWN, "no_rotate", TRUE,
            "option_string", "[fail_on=truncated]", NULL))
        return cvips_failure(token, CVIPS_STATUS_FAILED);
    cvips_status stopped = cvips_token_check(token);
    if (stopped != CVIPS_STATUS_OK) return stopped;
    if (to_srgb(owner, t[0], &t[1])) return cvips_failure(token, CVIPS_STATUS_FAILED);
    return cvips_write_picture(t[1], info->orientation, token, out);
}

static cvips_status decode(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_info *info,
    int32_t box_width, int32_t box_height, const cvips_token *token, cvips_picture *out) {
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    // The owner of all intermediate images.
    VipsObject *owner = VIPS_OBJECT(vips_image_new());
    cvips_status status =
        decode_source(source, owner, format, info, box_width, box_height, token, out);
    g_object_unref(owner);
    g_object_unref(source);
    return status;
}

// Examines a JPEG with warnings: a JPEG decoder fills missing data with grey and only warns.
static cvips_status examine_jpeg(
    const uint8_t *bytes, size_t count, unsigned warnings, const cvips_token *token) {
    if (!cvips_jpeg_read_layout(bytes, count).has_all_scans) return CVIPS_STATUS_DAMAGED;
    return warnings > 0 ? cvips_jpeg_examine(bytes, count, token) : CVIPS_STATUS_OK;
}

cvips_status cvips_decode(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_info *info,
    int32_t box_width, int32_t box_height, const cvips_token *token, cvips_picture *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    cvips_take_warnings();
    cvips_picture picture = {NULL, 0, 0, 0};
    status = decode(bytes, count, format, info, box_width, box_height, token, &picture);
    if (status == CVIPS_STATUS_OK && format == CVIPS_FORMAT_JPEG)
        status = examine_jpeg(bytes, count, cvips_take_warnings(), token);
    if (status != CVIPS_STATUS_OK) {
        g_free(picture.pixels);
        return status;
    }
    drop_opaque_alpha(&picture);
    *out = picture;
    return status;
}
