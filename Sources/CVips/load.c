#include "internal.h"

#include <string.h>

// Opens with the loader we chose by the magic bytes, so that libvips never guesses.
static int open_header(VipsSource *source, cvips_format format, VipsImage **out) {
    switch (format) {
    case CVIPS_FORMAT_JPEG:
        return vips_jpegload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case CVIPS_FORMAT_PNG:
        return vips_pngload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case CVIPS_FORMAT_WEBP:
        return vips_webpload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case CVIPS_FORMAT_GIF:
        return vips_gifload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case CVIPS_FORMAT_TIFF:
        return vips_tiffload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    case CVIPS_FORMAT_HEIF:
        return vips_heifload_source(source, out, "access", VIPS_ACCESS_SEQUENTIAL, NULL);
    }
    return -1;
}

static bool has_flag(VipsImage *image, const char *name) {
    int value = 0;
    return vips_image_get_typeof(image, name) && !vips_image_get_int(image, name, &value) && value;
}

cvips_status cvips_inspect(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_info *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_check(token);
    if (status != CVIPS_STATUS_OK) return status;
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *image = NULL;
    int failed = open_header(source, format, &image);
    g_object_unref(source);
    if (failed) return cvips_failure(token, CVIPS_STATUS_FAILED);
    *out = (cvips_info){
        .width = image->Xsize,
        .height = image->Ysize,
        .orientation = vips_image_get_orientation(image),
        .frames = vips_image_get_n_pages(image),
        .has_alpha = vips_image_hasalpha(image),
        .is_progressive = has_flag(image, "jpeg-multiscan") || has_flag(image, "interlaced"),
    };
    g_object_unref(image);
    return CVIPS_STATUS_OK;
}

// Whether the embedded profile speaks of the pixels at hand. The shrinking step may already have
// turned CMYK into RGB and left the old profile attached; using it then would be nonsense.
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

// To sRGB, 8 bits, 3 or 4 bands. A profile that lcms refuses is ignored, as browsers do.
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
    if (vips_colourspace(in, &t[1], VIPS_INTERPRETATION_sRGB, NULL) ||
        vips_cast_uchar(t[1], &t[2], NULL))
        return -1;
    if (t[2]->Bands < 3) {
        vips_error("cvips", "cannot make RGB of %d bands", t[2]->Bands);
        return -1;
    }
    return vips_extract_band(t[2], out, 0, "n", MIN(4, t[2]->Bands), NULL);
}

// Most pictures with an alpha band do not use it; without it they are a quarter smaller and every
// later step is cheaper.
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

static cvips_status decode_source(
    VipsSource *source, VipsObject *owner, int32_t box_width, int32_t box_height,
    const cvips_token *token, cvips_picture *out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 2);
    // The shrinking call ignores its own "fail on" setting, so it goes in as a loader option:
    // without it half a download becomes a picture with a grey bottom, and success.
    if (vips_thumbnail_source(
            source, &t[0], box_width > 0 ? box_width : VIPS_MAX_COORD, "height",
            box_height > 0 ? box_height : VIPS_MAX_COORD, "size", VIPS_SIZE_DOWN, "option_string",
            "[fail_on=truncated]", NULL))
        return cvips_failure(token, CVIPS_STATUS_FAILED);
    cvips_status stopped = cvips_token_check(token);
    if (stopped != CVIPS_STATUS_OK) return stopped;
    if (to_srgb(owner, t[0], &t[1])) return cvips_failure(token, CVIPS_STATUS_FAILED);
    return cvips_write_picture(t[1], token, out);
}

cvips_status cvips_decode(
    const uint8_t *bytes, size_t count, int32_t box_width, int32_t box_height,
    const cvips_token *token, cvips_picture *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_check(token);
    if (status != CVIPS_STATUS_OK) return status;
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    // Owns every intermediate image.
    VipsObject *owner = VIPS_OBJECT(vips_image_new());
    status = decode_source(source, owner, box_width, box_height, token, out);
    g_object_unref(owner);
    g_object_unref(source);
    if (status == CVIPS_STATUS_OK) drop_opaque_alpha(out);
    return status;
}
