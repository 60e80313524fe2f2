#ifdef PhotoImaging
// Makes memmem() visible.
#define _GNU_SOURCE

// The metadata of a file on its way from a loader to an encoder.
//
// libvips keeps metadata as named values of an image and writes those that the format can hold. So
// metadata is kept as an image of one pixel that has nothing but these values.

#include "internal.h"

#include <math.h>
#include <string.h>

struct cvips_metadata {
    VipsImage *holder;
    // Whether there is more than the resolution and the durations of frames.
    bool has_texts;
};

// The orientation is missing on purpose: the picture is turned upright. So is the thumbnail's
// directory (ifd1); see collect_exif.
static bool is_kept(const char *name) {
    static const char *const names[] = {
        VIPS_META_EXIF_NAME, VIPS_META_XMP_NAME, VIPS_META_IMAGEDESCRIPTION,
        VIPS_META_RESOLUTION_UNIT, "delay", "loop", "gif-comment", "background",
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (!strcmp(name, names[i])) return true;
    if (g_str_has_prefix(name, "png-comment-")) return true;
    return g_str_has_prefix(name, "exif-ifd") && !g_str_has_prefix(name, "exif-ifd1-") &&
        strcmp(name, "exif-ifd0-Orientation");
}

// --- IPTC
//
// JPEG keeps IPTC in a Photoshop block with a header; TIFF keeps the block without the header, or
// the bare IPTC data. libvips calls all of these by the same name and copies them from one format
// to another unchanged. This file keeps the form of JPEG and converts it.

static const char photoshop_header[] = "Photoshop 3.0";

// Adds the header of JPEG, and `resource` if it is not NULL, before data.
static void set_photoshop(
    VipsImage *holder, const uint8_t *resource, size_t resource_count, const void *data,
    size_t count) {
    GByteArray *block = g_byte_array_new();
    // Includes the zero byte at the end.
    g_byte_array_append(block, (const guint8 *)photoshop_header, sizeof photoshop_header);
    if (resource) g_byte_array_append(block, resource, (guint)resource_count);
    g_byte_array_append(block, data, (guint)count);
    // Resources have an even length.
    if (resource && count % 2) g_byte_array_append(block, (const guint8 *)"", 1);
    vips_image_set_blob_copy(holder, VIPS_META_IPTC_NAME, block->data, block->len);
    g_byte_array_unref(block);
}

static const void *blob(VipsImage *image, const char *name, size_t *count) {
    const void *data = NULL;
    *count = 0;
    if (!vips_image_get_typeof(image, name) || vips_image_get_blob(image, name, &data, count))
        return NULL;
    // No real file has more metadata.
    return *count < 1 << 28 ? data : NULL;
}

static bool has_photoshop_header(const void *data, size_t count) {
    return count >= sizeof photoshop_header &&
        !memcmp(data, photoshop_header, sizeof photoshop_header);
}

static void collect_iptc(VipsImage *image, VipsImage *holder) {
    size_t count = 0;
    const void *data = blob(image, VIPS_META_IPTC_NAME, &count);
    if (data && has_photoshop_header(data, count)) {
        vips_image_set_blob_copy(holder, VIPS_META_IPTC_NAME, data, count);
    } else if (data) {
        const uint8_t resource[12] = {
            '8', 'B', 'I', 'M', 4, 4, 0, 0, (uint8_t)(count >> 24), (uint8_t)(count >> 16),
            (uint8_t)(count >> 8), (uint8_t)count};
        set_photoshop(holder, resource, sizeof resource, data, count);
    } else if ((data = blob(image, VIPS_META_PHOTOSHOP_NAME, &count))) {
        set_photoshop(holder, NULL, 0, data, count);
    }
}

static void apply_iptc(VipsImage *image, cvips_format format) {
    size_t count = 0;
    const uint8_t *data = blob(image, VIPS_META_IPTC_NAME, &count);
    if (data && format == CVIPS_FORMAT_TIFF && has_photoshop_header(data, count)) {
        vips_image_set_blob_copy(
            image, VIPS_META_PHOTOSHOP_NAME, data + sizeof photoshop_header,
            count - sizeof photoshop_header);
        vips_image_remove(image, VIPS_META_IPTC_NAME);
    }
}

// --- EXIF

// Copies the EXIF block without its thumbnail, which shows the picture without its filters. The
// block is a TIFF file after "Exif\0\0": its first directory is followed by the place of the second
// one, which describes the thumbnail. Without that place, libvips writes the block anew without the
// thumbnail. As soon as an image gets a block, libvips also makes values of everything in it; so
// the block is changed before.
static void collect_exif(VipsImage *image, VipsImage *holder) {
    enum { START = 6, ENTRY_SIZE = 12 };
    size_t count = 0;
    const uint8_t *block = blob(image, VIPS_META_EXIF_NAME, &count);
    if (!block) return;
    uint8_t *copy = g_try_malloc(count);
    if (!copy) return;
    memcpy(copy, block, count);
    if (count >= START + 8) {
        uint8_t *tiff = copy + START;
        size_t length = count - START;
        bool is_little = tiff[0] == 'I';
        size_t place = 0, entries = 0;
        for (size_t i = 0; i < 4; i++) place = place << 8 | tiff[is_little ? 7 - i : 4 + i];
        if (place <= length && length - place >= 2) {
            for (size_t i = 0; i < 2; i++)
                entries = entries << 8 | tiff[place + (is_little ? 1 - i : i)];
            size_t next = place + 2 + entries * ENTRY_SIZE;
            if (next <= length && length - next >= 4) memset(tiff + next, 0, 4);
        }
    }
    vips_image_set_blob_copy(holder, VIPS_META_EXIF_NAME, copy, count);
    g_free(copy);
}

// --- What a copy lacks

static bool contains(const void *data, size_t count, const char *text) {
    return data && memmem(data, count, text, strlen(text));
}

static const void *packet_of(VipsImage *image, size_t *count) {
    const void *packet = blob(image, VIPS_META_XMP_NAME, count);
    // The name in a HEIF.
    return packet ? packet : blob(image, "heif-mime-1", count);
}

bool cvips_has_gain_map(
    VipsImage *image, cvips_format format, const uint8_t *bytes, size_t count) {
    static const char apple[] = "urn:com:apple:photo:2020:aux:hdrgainmap";
    size_t length = 0;
    const void *packet = packet_of(image, &length);
    if (contains(packet, length, "hdrgm:Version") ||
        contains(packet, length, "Semantic=\"GainMap\"") ||
        contains(packet, length, "HDRGainMapVersion"))
        return true;
    // The items of HEIF are described before their data. In a JPEG, a segment (MPF) announces that
    // other pictures follow, and the map says itself what it is; ISO 21496-1 has a mark of its own.
    enum { HEAD = 1 << 16 };
    if (format == CVIPS_FORMAT_HEIF) return contains(bytes, MIN(count, HEAD), apple);
    if (format != CVIPS_FORMAT_JPEG) return false;
    if (contains(bytes, MIN(count, HEAD), "urn:iso:std:iso:ts:21496:-1")) return true;
    const uint8_t *list = memmem(bytes, MIN(count, HEAD), "MPF\0", 4);
    return list && contains(list, count - (size_t)(list - bytes), apple);
}

bool cvips_has_video(VipsImage *image) {
    static const char *const marks[] = {
        "MotionPhoto=\"1\"", "MicroVideo=\"1\"", "MotionPhoto>1<", "MicroVideo>1<",
        "Semantic=\"MotionPhoto\""};
    size_t length = 0;
    const void *packet = packet_of(image, &length);
    for (size_t i = 0; i < G_N_ELEMENTS(marks); i++)
        if (contains(packet, length, marks[i])) return true;
    return false;
}

// --- Collecting

static void *collect(VipsImage *image, const char *name, GValue *value, void *data) {
    (void)image;
    cvips_metadata *metadata = data;
    VipsImage *holder = metadata->holder;
    // libvips 8.14 presents the XMP of HEIF under this name.
    const char *target = g_str_has_prefix(name, "heif-mime-") ? VIPS_META_XMP_NAME : name;
    if (!is_kept(target)) return NULL;
    if (G_VALUE_TYPE(value) == VIPS_TYPE_BLOB || strstr(target, "comment") ||
        !strcmp(target, VIPS_META_IMAGEDESCRIPTION))
        metadata->has_texts = true;
    if (!strcmp(target, VIPS_META_EXIF_NAME)) return NULL;
    if (G_VALUE_TYPE(value) == VIPS_TYPE_BLOB) {
        // The loader of HEIF frees the bytes of its values together with the image, although the
        // values are counted references. So the bytes are copied.
        size_t count = 0;
        const void *bytes = vips_value_get_blob(value, &count);
        vips_image_set_blob_copy(holder, target, bytes, count);
    } else {
        vips_image_set(holder, target, value);
    }
    return NULL;
}

// Sets the orientation to 1. The value is a single digit, in an attribute or an element.
static void reset_orientation(char *at, char *end) {
    static const char name[] = "tiff:Orientation";
    const size_t length = sizeof name - 1;
    for (; (size_t)(end - at) > length; at++) {
        if (memcmp(at, name, length)) continue;
        at += length;
        while (at < end - 1 && *at && strchr(" =\"'>\t\r\n", *at)) at++;
        if (*at >= '1' && *at <= '8') *at = '1';
    }
}

// The end of what begins at `at` and ends with `last`; NULL if the packet has no such end.
static char *end_of(char *at, char *end, const char *last) {
    const size_t length = strlen(last);
    for (; (size_t)(end - at) >= length; at++)
        if (!memcmp(at, last, length)) return at + length;
    return NULL;
}

// Overwrites all attributes whose names begin with `prefix`, as in ` hdrgm:Version="1.0"`.
static void blank_attributes(char *at, char *end, const char *prefix) {
    const size_t length = strlen(prefix);
    for (; (size_t)(end - at) > length; at++) {
        if (!*at || !strchr(" \t\r\n", *at) || memcmp(at + 1, prefix, length)) continue;
        char *value = memchr(at + 1, '=', (size_t)(end - at - 1));
        if (!value) return;
        do value++;
        while (value < end && *value && strchr(" \t\r\n", *value));
        if (value >= end || (*value != '"' && *value != '\'')) continue;
        char *close = memchr(value + 1, *value, (size_t)(end - value - 1));
        if (!close) return;
        memset(at, ' ', (size_t)(close + 1 - at));
    }
}

// Overwrites all elements of a name.
static void blank_elements(char *at, char *end, const char *first, const char *last) {
    const size_t length = strlen(first);
    for (; (size_t)(end - at) > length; at++) {
        if (memcmp(at, first, length)) continue;
        char *close = end_of(at, end, last);
        if (!close) return;
        memset(at, ' ', (size_t)(close - at));
    }
}

// Overwrites the fields that say what follows the picture in its file: a gain map for screens with
// more light (Ultra HDR), the video of a motion photo, and more XMP. A copy has the picture and the
// first packet only, and a program that believes the fields would look for the rest.
static void drop_attachments(char *at, char *end) {
    static const char *const attributes[] = {
        "hdrgm:", "HDRGainMap:", "xmpNote:HasExtendedXMP", "GCamera:MotionPhoto", "GCamera:MicroVideo", "Camera:MotionPhoto",
        "Camera:MicroVideo"};
    for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) blank_attributes(at, end, attributes[i]);
    blank_elements(at, end, "<Container:Directory", "</Container:Directory>");
    blank_elements(at, end, "<GContainer:Directory", "</GContainer:Directory>");
}

// Overwrites what a converted picture no longer has: the name of its color space.
static void drop_color_space(char *at, char *end) {
    blank_attributes(at, end, "exif:ColorSpace");
    blank_attributes(at, end, "photoshop:ICCProfile");
    blank_elements(at, end, "<exif:ColorSpace>", "</exif:ColorSpace>");
    blank_elements(at, end, "<photoshop:ICCProfile>", "</photoshop:ICCProfile>");
}

// --- Sizes in XMP

// Numbers of pixels: of a panorama, of which programs make a sphere (Google's Photo Sphere XMP),
// and of the picture.
static const char *const size_names[] = {
    "GPano:FullPanoWidthPixels", "GPano:FullPanoHeightPixels",
    "GPano:CroppedAreaImageWidthPixels", "GPano:CroppedAreaImageHeightPixels",
    "GPano:CroppedAreaLeftPixels", "GPano:CroppedAreaTopPixels",
    "GPano:LargestValidInteriorRectLeft", "GPano:LargestValidInteriorRectTop",
    "GPano:LargestValidInteriorRectWidth", "GPano:LargestValidInteriorRectHeight",
    "exif:PixelXDimension", "exif:PixelYDimension", "tiff:ImageWidth", "tiff:ImageLength",
};

// Scales a number to a smaller one. What ends it, a quotation mark or the end of the element, moves
// to its last digit, and spaces follow.
static void scale_number(char *at, char *end, double scale) {
    size_t digits = 0, tail = 1;
    double value = 0;
    while (at + digits < end && digits < 9 && g_ascii_isdigit(at[digits]))
        value = 10 * value + (at[digits++] - '0');
    char *stop = at + digits;
    if (!digits || stop >= end) return;
    if (*stop == '<') {
        const char *close = memchr(stop, '>', (size_t)(end - stop));
        if (!close) return;
        tail = (size_t)(close + 1 - stop);
    } else if (*stop != '"' && *stop != '\'') {
        return;
    }
    char text[16];
    size_t length = (size_t)g_snprintf(text, sizeof text, "%.0f", rint(value * scale));
    if (length > digits) return;
    memcpy(at, text, length);
    memmove(at + length, stop, tail);
    memset(at + length + tail, ' ', digits - length);
}

// Scales the sizes, which are attributes or elements.
static void scale_sizes(char *start, char *end, double scale) {
    for (size_t i = 0; i < G_N_ELEMENTS(size_names); i++) {
        const size_t length = strlen(size_names[i]);
        for (char *at = start; (at = end_of(at, end, size_names[i]));) {
            char *number = at;
            while (number < end && *number && strchr(" \t\r\n=\"'>", *number)) number++;
            // The end of an element has no number.
            const char *name = at - length;
            if (number > at && (name == start || name[-1] != '/')) scale_number(number, end, scale);
        }
    }
}

// Overwrites the fields of a panorama, which is none any more when it was turned.
static void drop_panorama(char *at, char *end) {
    blank_attributes(at, end, "GPano:");
    blank_elements(at, end, "<GPano:UsePanoramaViewer>", "</GPano:UsePanoramaViewer>");
    blank_elements(at, end, "<GPano:ProjectionType>", "</GPano:ProjectionType>");
    for (size_t i = 0; i < G_N_ELEMENTS(size_names); i++) {
        char *first = g_strdup_printf("<%s>", size_names[i]);
        char *last = g_strdup_printf("</%s>", size_names[i]);
        blank_attributes(at, end, size_names[i]);
        blank_elements(at, end, first, last);
        g_free(first);
        g_free(last);
    }
}

// Makes the XMP packet true for a copy of the picture. The packet keeps its length.
static void mend_xmp(VipsImage *holder, const cvips_changes *changes) {
    size_t count = 0;
    const void *packet = blob(holder, VIPS_META_XMP_NAME, &count);
    if (!packet || !count) return;
    char *copy = g_try_malloc(count);
    // Without memory for a copy, the picture is shown correctly by programs that read EXIF.
    if (!copy) return;
    memcpy(copy, packet, count);
    reset_orientation(copy, copy + count);
    drop_attachments(copy, copy + count);
    if (changes->is_converted) drop_color_space(copy, copy + count);
    if (changes->is_turned) drop_panorama(copy, copy + count);
    else if (changes->scale < 1) scale_sizes(copy, copy + count, changes->scale);
    vips_image_set_blob_copy(holder, VIPS_META_XMP_NAME, copy, count);
    g_free(copy);
}

// Says in EXIF that a converted picture is in sRGB, if EXIF names a color space: DCF 2.0 has an
// index beside the number.
static void mend_color_space(VipsImage *holder) {
    static const char *const fields[][2] = {
        {"exif-ifd2-ColorSpace", "1"}, {"exif-ifd4-InteroperabilityIndex", "R98"}};
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        if (vips_image_get_typeof(holder, fields[i][0]))
            vips_image_set_string(holder, fields[i][0], fields[i][1]);
}

static void set_profile(VipsImage *image, VipsImage *holder, bool keeps_own) {
    size_t count = 0;
    const void *own = blob(image, VIPS_META_ICC_NAME, &count);
    if (!own) return;
    VipsBlob *srgb = NULL;
    if (keeps_own) {
        vips_image_set_blob_copy(holder, VIPS_META_ICC_NAME, own, count);
    } else if (!vips_profile_load("srgb", &srgb, NULL) && srgb) {
        const void *profile = vips_blob_get(srgb, &count);
        vips_image_set_blob_copy(holder, VIPS_META_ICC_NAME, profile, count);
        vips_area_unref(VIPS_AREA(srgb));
    }
}

cvips_metadata *cvips_metadata_new(
    VipsImage *image, VipsImage *exif_holder, const cvips_changes *changes) {
    cvips_metadata *metadata = g_try_new0(cvips_metadata, 1);
    if (!metadata) return NULL;
    static const uint8_t pixel = 0;
    metadata->holder = vips_image_new_from_memory_copy(&pixel, 1, 1, 1, 1, VIPS_FORMAT_UCHAR);
    if (!metadata->holder) {
        g_free(metadata);
        return NULL;
    }
    metadata->holder->Xres = image->Xres;
    metadata->holder->Yres = image->Yres;
    collect_exif(exif_holder ? exif_holder : image, metadata->holder);
    // The other values of the image replace those of the holder of its EXIF block.
    if (exif_holder) vips_image_map(exif_holder, collect, metadata);
    vips_image_map(image, collect, metadata);
    collect_iptc(image, metadata->holder);
    mend_xmp(metadata->holder, changes);
    if (changes->is_converted) mend_color_space(metadata->holder);
    set_profile(image, metadata->holder, !changes->is_converted);
    if (vips_image_get_typeof(metadata->holder, VIPS_META_IPTC_NAME) ||
        vips_image_get_typeof(metadata->holder, VIPS_META_ICC_NAME))
        metadata->has_texts = true;
    return metadata;
}

bool cvips_metadata_has_texts(const cvips_metadata *metadata) { return metadata->has_texts; }

cvips_density cvips_metadata_density(const cvips_metadata *metadata) {
    cvips_density density = {.unit = 1};
    double factor = 25.4;
    const char *unit = NULL;
    if (vips_image_get_typeof(metadata->holder, VIPS_META_RESOLUTION_UNIT) &&
        !vips_image_get_string(metadata->holder, VIPS_META_RESOLUTION_UNIT, &unit)) {
        if (g_str_has_prefix(unit, "cm")) {
            density.unit = 2;
            factor = 10;
        } else if (g_str_has_prefix(unit, "none")) {
            density.unit = 0;
            factor = 1;
        }
    }
    // libvips has pixels per millimetre.
    density.across = (uint16_t)CLAMP(rint(metadata->holder->Xres * factor), 1, G_MAXUINT16);
    density.down = (uint16_t)CLAMP(rint(metadata->holder->Yres * factor), 1, G_MAXUINT16);
    return density;
}

void cvips_metadata_free(cvips_metadata *metadata) {
    if (!metadata) return;
    g_object_unref(metadata->holder);
    g_free(metadata);
}

typedef struct application {
    VipsImage *image;
    bool is_gray;
} application;

static void *copy_value(VipsImage *holder, const char *name, GValue *value, void *data) {
    (void)holder;
    const application *application = data;
    // An RGB profile does not describe gray pixels, and encoders reject it.
    if (!application->is_gray || strcmp(name, VIPS_META_ICC_NAME))
        vips_image_set(application->image, name, value);
    return NULL;
}

void cvips_metadata_apply(
    const cvips_metadata *metadata, VipsImage *image, cvips_format format, bool is_gray) {
    application application = {image, is_gray};
    vips_image_map(metadata->holder, copy_value, &application);
    apply_iptc(image, format);
    image->Xres = metadata->holder->Xres;
    image->Yres = metadata->holder->Yres;
    // With an orientation of 1, encoders write 1 into the EXIF block, too.
    vips_image_set_int(image, VIPS_META_ORIENTATION, 1);
}
#endif
