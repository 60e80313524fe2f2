#ifdef PhotoImaging
// The entries of EXIF, and the other parts of a header that describe the photo, as libvips presents
// them.

#include "internal.h"

#include <string.h>

typedef struct visit {
    const cvips_header_visitor *visitor;
    void *context;
} visit;

static void visit_blob(const visit *visit, cvips_header_part part, GValue *value) {
    size_t count = 0;
    const void *bytes = vips_value_get_blob(value, &count);
    if (bytes && count) visit->visitor->part(visit->context, part, bytes, count);
}

static void *visit_value(VipsImage *image, const char *name, GValue *value, void *data) {
    (void)image;
    const visit *visit = data;
    GType type = G_VALUE_TYPE(value);
    if (type == VIPS_TYPE_REF_STRING && g_str_has_prefix(name, "exif-ifd"))
        visit->visitor->entry(visit->context, name, vips_value_get_ref_string(value, NULL));
    if (type != VIPS_TYPE_BLOB) return NULL;
    // libvips 8.14 presents the XMP of HEIF under the second name.
    if (!strcmp(name, VIPS_META_XMP_NAME) || g_str_has_prefix(name, "heif-mime-"))
        visit_blob(visit, CVIPS_HEADER_PART_XMP, value);
    if (!strcmp(name, "jpeg-thumbnail-data"))
        visit_blob(visit, CVIPS_HEADER_PART_THUMBNAIL, value);
    return NULL;
}

void cvips_visit_header(VipsImage *image, const cvips_header_visitor *visitor, void *context) {
    visit visit = {visitor, context};
    vips_image_map(image, visit_value, &visit);
}
#endif
