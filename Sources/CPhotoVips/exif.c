#ifdef PhotoImaging
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
    VipsImage *image = NULL;
    cvips_status status = cvips_open_header(bytes, count, format, token, &image);
    if (status != CVIPS_STATUS_OK) return status;
    visit visit = {visitor, context};
    vips_image_map(image, visit_entry, &visit);
    g_object_unref(image);
    return CVIPS_STATUS_OK;
}
#endif
