// The entries of EXIF, as libvips presents them in a header.

#include "internal.h"

typedef struct visit {
    cvips_exif_visitor visitor;
    void *context;
} visit;

static void *visit_entry(VipsImage *image, const char *name, GValue *value, void *data) {
    (void)image;
    const visit *visit = data;
    if (!g_str_has_prefix(name, "exif-ifd") || G_VALUE_TYPE(value) != VIPS_TYPE_REF_STRING)
        return NULL;
    visit->visitor(visit->context, name, vips_value_get_ref_string(value, NULL));
    return NULL;
}

cvips_status cvips_read_exif(
    const uint8_t *bytes, size_t count, cvips_format format, const cvips_token *token,
    cvips_exif_visitor visitor, void *context) {
    cvips_status status = cvips_setup();
    if (status != CVIPS_STATUS_OK) return status;
    status = cvips_token_enter(token);
    if (status != CVIPS_STATUS_OK) return status;
    VipsSource *source = cvips_source_new(bytes, count, token);
    if (!source) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *image = NULL;
    int failed = cvips_open_image(source, format, false, true, &image);
    g_object_unref(source);
    if (failed) return cvips_failure(token, CVIPS_STATUS_FAILED);
    visit visit = {visitor, context};
    vips_image_map(image, visit_entry, &visit);
    g_object_unref(image);
    return CVIPS_STATUS_OK;
}
