#ifdef PhotoImaging
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
// more light (Ultra HDR), and the video of a motion photo. A copy has the picture only, and a
// program that believes the fields would look for the rest.
static void drop_attachments(char *at, char *end) {
    static const char *const attributes[] = {
        "hdrgm:", "HDRGainMap:", "GCamera:MotionPhoto", "GCamera:MicroVideo", "Camera:MotionPhoto",
        "Camera:MicroVideo"};
    for (size_t i = 0; i < G_N_ELEMENTS(attributes); i++) blank_attributes(at, end, attributes[i]);
    blank_elements(at, end, "<Container:Directory", "</Container:Directory>");
    blank_elements(at, end, "<GContainer:Directory", "</GContainer:Directory>");
}

// Makes the XMP packet true for a copy of the picture. The packet keeps its length.
static void mend_xmp(VipsImage *holder) {
    size_t count = 0;
    const void *packet = blob(holder, VIPS_META_XMP_NAME, &count);
    if (!packet || !count) return;
    char *copy = g_try_malloc(count);
    // Without memory for a copy, the picture is shown correctly by programs that read EXIF.
    if (!copy) return;
    memcpy(copy, packet, count);
    reset_orientation(copy, copy + count);
    drop_attachments(copy, copy + count);
    vips_image_set_blob_copy(holder, VIPS_META_XMP_NAME, copy, count);
    g_free(copy);
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

cvips_metadata *cvips_metadata_new(VipsImage *image, bool has_srgb_profile) {
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
    collect_exif(image, metadata->holder);
    vips_image_map(image, collect, metadata);
    collect_iptc(image, metadata->holder);
    mend_xmp(metadata->holder);
    set_profile(image, metadata->holder, has_srgb_profile);
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
