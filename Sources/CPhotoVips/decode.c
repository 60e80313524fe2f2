#ifdef PhotoImaging
#include "internal.h"

#include <math.h>
#include <string.h>

// Whether the embedded profile describes the pixels at hand. The shrinking step may already have
// turned CMYK into RGB and left the old profile attached; applying that profile would be wrong.
static bool profile_applies(VipsImage *image, const uint8_t *profile, size_t count) {
    if (image->BandFmt != VIPS_FORMAT_UCHAR && image->BandFmt != VIPS_FORMAT_USHORT) return false;
    switch (cvips_profile_space(profile, count)) {
    case CVIPS_SPACE_RGB:
        return image->Bands >= 3 && image->Type != VIPS_INTERPRETATION_CMYK &&
            !cvips_profile_is_srgb(profile, count);
    case CVIPS_SPACE_GRAY: return image->Bands <= 2;
    case CVIPS_SPACE_CMYK: return image->Bands >= 4 && image->Type == VIPS_INTERPRETATION_CMYK;
    default: return false;
    }
}

// The profile of an image, or NULL.
static const uint8_t *profile_of(VipsImage *image, size_t *count) {
    const void *profile = NULL;
    *count = 0;
    if (!vips_image_get_typeof(image, VIPS_META_ICC_NAME) ||
        vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, count))
        return NULL;
    return profile;
}

// Converts to sRGB, 8 or 16 bits, 3 or 4 bands. A profile that lcms rejects is ignored, as in
// browsers.
static int to_srgb(VipsObject *owner, VipsImage *in, bool is_16_bit, VipsImage **out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 4);
    size_t count = 0;
    const uint8_t *profile = profile_of(in, &count);
    bool is_cmyk = in->Type == VIPS_INTERPRETATION_CMYK;
    bool is_perceptual = profile && cvips_profile_is_perceptual(profile, count);
    // Inks without a profile are taken for those of the profile that libvips has.
    if ((is_cmyk || (profile && profile_applies(in, profile, count))) &&
        !vips_icc_transform(
            in, &t[0], "srgb", "embedded", TRUE, "input_profile", is_cmyk ? "cmyk" : "srgb",
            "intent", is_perceptual ? VIPS_INTENT_PERCEPTUAL : VIPS_INTENT_RELATIVE,
            "black_point_compensation", TRUE, "depth", is_16_bit ? 16 : 8, NULL))
        in = t[0];
    VipsInterpretation space =
        is_16_bit ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB;
    // Every step costs a buffer for each tile, even a step that changes nothing.
    if (in->Type != space || in->Coding != VIPS_CODING_NONE) {
        if (vips_colourspace(in, &t[1], space, NULL)) return -1;
        in = t[1];
    }
    VipsBandFormat format = is_16_bit ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR;
    if (in->BandFmt != format) {
        if (vips_cast(in, &t[2], format, NULL)) return -1;
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
    size_t count = cvips_picture_size(picture) / (size_t)(4 * picture->depth);
    uint8_t *pixels = picture->pixels;
    if (picture->depth == 2) {
        uint16_t *samples = (uint16_t *)pixels;
        for (size_t i = 0; i < count; i++)
            if (samples[4 * i + 3] != 65535) return;
        for (size_t i = 0; i < count; i++) memmove(samples + 3 * i, samples + 4 * i, 6);
    } else {
        for (size_t i = 0; i < count; i++)
            if (pixels[4 * i + 3] != 255) return;
        for (size_t i = 0; i < count; i++) memmove(pixels + 3 * i, pixels + 4 * i, 3);
    }
    picture->bands = 3;
    uint8_t *smaller = g_try_realloc(pixels, cvips_picture_size(picture));
    if (smaller) picture->pixels = smaller;
}

// One call of cvips_decode.
typedef struct request {
    const uint8_t *bytes;
    size_t count;
    cvips_format format;
    const cvips_info *info;
    const cvips_decode_options *options;
    const cvips_token *token;
    // The number of frames to read, and whether the samples stay 16-bit.
    int frames;
    bool is_16_bit;
} request;

static int side(int32_t side) { return side > 0 ? side : VIPS_MAX_COORD; }

// The box for the picture as stored: it is turned upright only when its pixels are written.
// Otherwise libvips would first evaluate the whole picture into memory, on its own thread.
static int stored_box_width(const request *request) {
    const cvips_decode_options *options = request->options;
    return side(request->info->orientation >= 5 ? options->box_height : options->box_width);
}

static int stored_box_height(const request *request) {
    const cvips_decode_options *options = request->options;
    return side(request->info->orientation >= 5 ? options->box_width : options->box_height);
}

static bool keeps_size(const request *request) {
    return request->info->width <= stored_box_width(request) &&
        request->info->height <= stored_box_height(request);
}

static int open_request(const request *request, VipsSource *source, VipsImage **out) {
    return cvips_open_image(
        source, request->format, request->frames > 1, request->options->accepts_damage, out);
}

// Opens a JPEG or PNG that keeps its size and is already 8-bit RGB. The shrinking call would only
// add steps that change nothing and cost a buffer for each tile. NULL for other pictures.
static VipsImage *open_plain(const request *request, VipsSource *source) {
    if (request->format != CVIPS_FORMAT_JPEG && request->format != CVIPS_FORMAT_PNG) return NULL;
    if (!keeps_size(request)) return NULL;
    VipsImage *image = NULL;
    if (open_request(request, source, &image)) {
        vips_error_clear();
        return NULL;
    }
    if (image->Type == VIPS_INTERPRETATION_sRGB && image->BandFmt == VIPS_FORMAT_UCHAR &&
        image->Coding == VIPS_CODING_NONE)
        return image;
    g_object_unref(image);
    return NULL;
}

// Shrinks while decoding, in 8 bits.
static int open_shrunk(const request *request, VipsSource *source, VipsImage **out) {
    // The shrinking call ignores its own "fail on" setting, so the setting is passed as a loader
    // option. Without it, half a download would decode successfully, with a gray bottom.
    const char *fail_on = request->options->accepts_damage ? "none" : "truncated";
    char options[64];
    g_snprintf(
        options, sizeof options, "[fail_on=%s%s]", fail_on, request->frames > 1 ? ",n=-1" : "");
    return vips_thumbnail_source(
        source, out, stored_box_width(request), "height", stored_box_height(request), "size",
        VIPS_SIZE_DOWN, "no_rotate", TRUE, "option_string", options, NULL);
}

// Whether libvips' shrinking call would do something else: reduce 16 bits to 8, or convert inks
// without black point compensation, which makes shadows lighter.
static bool needs_own_shrinking(const request *request) {
    return request->is_16_bit || request->info->is_cmyk;
}

// Shrinks a picture in sRGB.
static int shrink(VipsObject *owner, const request *request, VipsImage *in, VipsImage **out) {
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 4);
    const double most = request->is_16_bit ? 65535 : 255;
    int height = in->Ysize / request->frames;
    double factor = MAX(
        (double)in->Xsize / stored_box_width(request), (double)height / stored_box_height(request));
    // The frames stay of equal height.
    double across = MAX(1, rint(in->Xsize / factor)) / in->Xsize;
    double down = MAX(1, rint(height / factor)) / height;
    bool has_alpha = in->Bands == 4;
    if (has_alpha) {
        if (vips_premultiply(in, &t[0], "max_alpha", most, NULL)) return -1;
        in = t[0];
    }
    if (vips_resize(in, &t[1], across, "vscale", down, NULL)) return -1;
    in = t[1];
    if (has_alpha) {
        if (vips_unpremultiply(in, &t[2], "max_alpha", most, NULL)) return -1;
        in = t[2];
    }
    return vips_cast(
        in, out, request->is_16_bit ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR, NULL);
}

// The picture that has the EXIF block in place of the file; NULL if there is none.
static VipsImage *open_exif_holder(const request *request) {
    const cvips_decode_options *options = request->options;
    if (!options->exif_holder) return NULL;
    VipsSource *source =
        cvips_source_new(options->exif_holder, options->exif_holder_count, request->token);
    if (!source) return NULL;
    VipsImage *holder = NULL;
    if (cvips_open_image(source, CVIPS_FORMAT_JPEG, false, true, &holder)) holder = NULL;
    g_object_unref(source);
    return holder;
}

// The metadata of an opened image whose pixels become sRGB. The profile stays only if it is sRGB.
static cvips_metadata *metadata_of(const request *request, VipsImage *image) {
    size_t count = 0;
    const uint8_t *profile = profile_of(image, &count);
    const cvips_info *info = request->info;
    const cvips_changes changes = {
        .is_converted = profile && !cvips_profile_is_srgb(profile, count),
        .is_turned = info->orientation >= 2,
        .scale = MIN(
            1,
            MIN((double)stored_box_width(request) / info->width,
                (double)stored_box_height(request) / info->height))};
    VipsImage *exif_holder = open_exif_holder(request);
    cvips_metadata *metadata = cvips_metadata_new(image, exif_holder, &changes);
    if (exif_holder) g_object_unref(exif_holder);
    return metadata;
}

// Makes the image in sRGB and at its final size, and the metadata. `t` holds images that live until
// the image has been evaluated.
static cvips_status prepare(
    const request *request, VipsSource *source, VipsObject *owner, VipsImage **t,
    cvips_metadata **metadata) {
    if (needs_own_shrinking(request)) {
        if (open_request(request, source, &t[0])) return CVIPS_STATUS_FAILED;
    } else {
        t[0] = open_plain(request, source);
        if (!t[0] && open_shrunk(request, source, &t[0])) return CVIPS_STATUS_FAILED;
    }
    cvips_name_space(t[0], request->format, request->bytes, request->count);
    cvips_status stopped = cvips_token_check(request->token);
    if (stopped != CVIPS_STATUS_OK) return stopped;
    if (request->options->keeps_metadata) {
        *metadata = metadata_of(request, t[0]);
        if (!*metadata) return CVIPS_STATUS_OUT_OF_MEMORY;
    }
    if (to_srgb(owner, t[0], request->is_16_bit, &t[1])) return CVIPS_STATUS_FAILED;
    if (!needs_own_shrinking(request) || keeps_size(request)) return CVIPS_STATUS_OK;
    t[2] = t[1];
    t[1] = NULL;
    return shrink(owner, request, t[2], &t[1]) ? CVIPS_STATUS_FAILED : CVIPS_STATUS_OK;
}

// The metadata alone, from the header.
static cvips_status read_metadata(const request *request, cvips_metadata **out) {
    VipsSource *source = cvips_source_new(request->bytes, request->count, request->token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *image = NULL;
    int failed = open_request(request, source, &image);
    g_object_unref(source);
    if (failed) return cvips_failure(request->token, CVIPS_STATUS_FAILED);
    // The pixels are in sRGB, as the profile says if there is one.
    *out = metadata_of(request, image);
    g_object_unref(image);
    return *out ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
}

// Decodes a JPEG without libvips. UNAVAILABLE if the picture needs libvips.
static cvips_status decode_jpeg(const request *request, cvips_decoded *out) {
    if (request->format != CVIPS_FORMAT_JPEG || request->options->accepts_damage)
        return CVIPS_STATUS_UNAVAILABLE;
    cvips_decoded decoded = {.metadata = NULL};
    cvips_status status = cvips_jpeg_decode(
        request->bytes, request->count, request->info, stored_box_width(request),
        stored_box_height(request), request->token, &decoded.picture);
    if (status == CVIPS_STATUS_OK && request->options->keeps_metadata) {
        status = read_metadata(request, &decoded.metadata);
        if (status != CVIPS_STATUS_OK) g_free(decoded.picture.pixels);
    }
    if (status == CVIPS_STATUS_OK) *out = decoded;
    return status;
}

// Whether the pixels of an opened image are 8-bit sRGB without alpha.
static bool is_plain_rgb(VipsImage *image) {
    size_t count = 0;
    const uint8_t *profile = profile_of(image, &count);
    return image->Type == VIPS_INTERPRETATION_sRGB && image->BandFmt == VIPS_FORMAT_UCHAR &&
        image->Coding == VIPS_CODING_NONE && image->Bands == 3 &&
        !(profile && profile_applies(image, profile, count));
}

// Shrinks an opened picture, and turns it upright.
static cvips_status shrink_plain(
    const request *request, VipsImage *image, cvips_decoded *out) {
    double factor = MAX(
        (double)image->Xsize / stored_box_width(request),
        (double)image->Ysize / stored_box_height(request));
    cvips_decoded decoded = {.metadata = NULL};
    cvips_status status = cvips_shrink_image(
        image, MAX(1, (int)(image->Xsize / factor + 0.5)),
        MAX(1, (int)(image->Ysize / factor + 0.5)), request->token, &decoded.picture);
    if (status != CVIPS_STATUS_OK) return status;
    if (request->options->keeps_metadata) {
        decoded.metadata = metadata_of(request, image);
        if (!decoded.metadata) status = CVIPS_STATUS_OUT_OF_MEMORY;
    }
    if (status == CVIPS_STATUS_OK)
        status = cvips_turn_picture(&decoded.picture, request->info->orientation);
    if (status == CVIPS_STATUS_OK) {
        *out = decoded;
        return status;
    }
    g_free(decoded.picture.pixels);
    cvips_metadata_free(decoded.metadata);
    return status;
}

// Decodes a PNG to a small picture without libvips' shrinking. UNAVAILABLE for other pictures.
static cvips_status decode_png(const request *request, cvips_decoded *out) {
    if (request->format != CVIPS_FORMAT_PNG || request->is_16_bit || keeps_size(request))
        return CVIPS_STATUS_UNAVAILABLE;
    VipsSource *source = cvips_source_new(request->bytes, request->count, request->token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *image = NULL;
    int failed = open_request(request, source, &image);
    g_object_unref(source);
    if (failed) return cvips_failure(request->token, CVIPS_STATUS_FAILED);
    cvips_name_space(image, request->format, request->bytes, request->count);
    cvips_status status =
        is_plain_rgb(image) ? shrink_plain(request, image, out) : CVIPS_STATUS_UNAVAILABLE;
    g_object_unref(image);
    return status == CVIPS_STATUS_FAILED ? cvips_failure(request->token, status) : status;
}

static cvips_status decode(const request *request, cvips_decoded *out) {
    cvips_status direct = decode_jpeg(request, out);
    if (direct == CVIPS_STATUS_UNAVAILABLE) direct = decode_png(request, out);
    if (direct != CVIPS_STATUS_UNAVAILABLE) return direct;
    VipsSource *source = cvips_source_new(request->bytes, request->count, request->token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    // The owner of all intermediate images.
    VipsObject *owner = VIPS_OBJECT(vips_image_new());
    VipsImage **t = (VipsImage **)vips_object_local_array(owner, 3);
    cvips_decoded decoded = {.metadata = NULL};
    cvips_status status = prepare(request, source, owner, t, &decoded.metadata);
    if (status == CVIPS_STATUS_OK)
        status = cvips_write_picture(
            t[1], request->info->orientation, request->frames, request->token, &decoded.picture);
    g_object_unref(owner);
    g_object_unref(source);
    if (status == CVIPS_STATUS_OK) {
        *out = decoded;
        return status;
    }
    cvips_metadata_free(decoded.metadata);
    return status == CVIPS_STATUS_FAILED ? cvips_failure(request->token, status) : status;
}

// Whether the loader can place all frames below one another.
static bool can_read_frames(const request *request) {
    switch (request->format) {
    case CVIPS_FORMAT_WEBP:
    case CVIPS_FORMAT_GIF:
    case CVIPS_FORMAT_TIFF: break;
    case CVIPS_FORMAT_JPEG:
    case CVIPS_FORMAT_PNG:
    case CVIPS_FORMAT_HEIF:
    case CVIPS_FORMAT_AVIF: return false;
    }
    VipsSource *source = cvips_source_new(request->bytes, request->count, request->token);
    if (!source) return false;
    VipsImage *image = NULL;
    // Fails if the pages differ in size.
    int failed = cvips_open_image(source, request->format, true, true, &image);
    bool is_whole = !failed &&
        image->Ysize == (gint64)request->info->height * request->info->frames;
    VIPS_UNREF(image);
    g_object_unref(source);
    if (failed) vips_error_clear();
    return is_whole;
}

// Checks the scans of a JPEG before its pixels are decoded. A file of a few kilobytes may have
// thousands of scans, each of which costs as much time as a whole picture.
static cvips_status check_scans(const request *request) {
    enum { MOST_SCANS = 100 };
    if (request->format != CVIPS_FORMAT_JPEG) return CVIPS_STATUS_OK;
    cvips_jpeg_layout layout = cvips_jpeg_read_layout(request->bytes, request->count);
    if (layout.scans > MOST_SCANS) return CVIPS_STATUS_FAILED;
    return layout.has_all_scans || request->options->accepts_damage ? CVIPS_STATUS_OK
                                                                    : CVIPS_STATUS_DAMAGED;
}

cvips_status cvips_decode(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_info *info,
    const cvips_decode_options *options, const cvips_token *token, cvips_decoded *out) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    request request = {
        .bytes = bytes, .count = count, .format = format, .info = info, .options = options,
        .token = token, .frames = 1, .is_16_bit = options->keeps_depth && info->depth == 2};
    if (options->keeps_frames && info->frames > 1 && can_read_frames(&request))
        request.frames = info->frames;
    status = check_scans(&request);
    if (status != CVIPS_STATUS_OK) return status;
    cvips_take_warnings();
    cvips_decoded decoded = {.metadata = NULL};
    status = decode(&request, &decoded);
    if (status != CVIPS_STATUS_OK) return status;
    // A JPEG decoder fills missing data with gray and only warns.
    if (format == CVIPS_FORMAT_JPEG && !options->accepts_damage && cvips_take_warnings() > 0)
        status = cvips_jpeg_examine(bytes, count, token);
    if (status != CVIPS_STATUS_OK) {
        g_free(decoded.picture.pixels);
        cvips_metadata_free(decoded.metadata);
        return status;
    }
    drop_opaque_alpha(&decoded.picture);
    *out = decoded;
    return status;
}
#endif
