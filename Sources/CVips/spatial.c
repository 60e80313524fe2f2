// Steps that look at neighbouring pixels. They read from memory: computing the steps before them
// again for every overlapping region would cost more than one copy of the picture.
//
// With alpha they work on premultiplied colours, or the hidden colour of transparent pixels would
// bleed into visible ones.

#include "internal.h"

#include <math.h>

static void premultiply_row(
    const cvips_kernel *kernel, uint8_t *out, const uint8_t *const *in, int left, int y, int width,
    int bands) {
    (void)kernel;
    (void)left;
    (void)y;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        for (int c = 0; c < 3; c++) out[c] = (uint8_t)((p[c] * p[3] + 127) / 255);
        out[3] = p[3];
    }
}

static void unpremultiply_row(
    const cvips_kernel *kernel, uint8_t *out, const uint8_t *const *in, int left, int y, int width,
    int bands) {
    (void)kernel;
    (void)left;
    (void)y;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        int alpha = p[3];
        for (int c = 0; c < 3; c++)
            out[c] = alpha ? (uint8_t)MIN(255, (p[c] * 255 + alpha / 2) / alpha) : 0;
        out[3] = p[3];
    }
}

// `image` in memory. Takes the reference.
static VipsImage *settle(VipsImage *image, const cvips_token *token) {
    if (!image) return NULL;
    // A picture in memory is settled, and may be watched only once.
    if (image->dtype == VIPS_IMAGE_SETBUF || image->dtype == VIPS_IMAGE_SETBUF_FOREIGN)
        return image;
    cvips_watch(image, token);
    VipsImage *memory = vips_image_copy_memory(image);
    g_object_unref(image);
    return memory;
}

// The render's picture, ready for reading neighbours.
static VipsImage *begin(cvips_render *render) {
    VipsImage *image = render->image;
    if (image->Bands == 4)
        image = cvips_kernel_image(&image, 1, premultiply_row, NULL, render->token);
    else g_object_ref(image);
    return settle(image, render->token);
}

// Takes the reference to `next`, the step's result.
static cvips_status end(cvips_render *render, VipsImage *next) {
    if (next && next->Bands == 4) {
        VipsImage *premultiplied = next;
        next = cvips_kernel_image(&premultiplied, 1, unpremultiply_row, NULL, render->token);
        g_object_unref(premultiplied);
    }
    return cvips_render_replace(render, next);
}

cvips_status cvips_render_blur(cvips_render *render, double sigma) {
    VipsImage *in = begin(render);
    VipsImage *out = in ? cvips_blurred(in, sigma, render->token) : NULL;
    VIPS_UNREF(in);
    return end(render, out);
}

// --- Tilt-shift

enum { TILT_ONE = 256 };

typedef struct tilt_tables {
    // By row, 0 (sharp) ... 2 * TILT_ONE (fully blurred). Mixing sharp and fully blurred directly
    // would show both at once, as a glow; a half blurred picture stands between them.
    uint16_t weights[1];
} tilt_tables;

static void tilt_row(
    const cvips_kernel *kernel, uint8_t *out, const uint8_t *const *in, int left, int y, int width,
    int bands) {
    (void)left;
    const tilt_tables *tables = kernel->tables;
    int weight = tables->weights[y];
    const uint8_t *a = weight < TILT_ONE ? in[0] : in[1];
    const uint8_t *b = weight < TILT_ONE ? in[1] : in[2];
    int share = weight < TILT_ONE ? weight : weight - TILT_ONE;
    for (int i = 0; i < width * bands; i++)
        out[i] = (uint8_t)((a[i] * (TILT_ONE - share) + b[i] * share + TILT_ONE / 2) / TILT_ONE);
}

static tilt_tables *make_tilt_tables(int height, double centre, double band, double transition) {
    tilt_tables *tables = g_try_malloc(sizeof(tilt_tables) + sizeof(uint16_t) * (size_t)height);
    if (!tables) return NULL;
    for (int y = 0; y < height; y++) {
        double distance = fabs((y + 0.5) / height - centre) - band / 2;
        double t = CLAMP(distance / MAX(transition, 1e-6), 0, 1);
        tables->weights[y] = (uint16_t)lrint(t * t * (3 - 2 * t) * 2 * TILT_ONE);
    }
    return tables;
}

cvips_status cvips_render_tilt_shift(
    cvips_render *render, double centre, double band, double transition, double sigma) {
    tilt_tables *tables = make_tilt_tables(render->image->Ysize, centre, band, transition);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsImage *images[3] = {begin(render), NULL, NULL};
    if (images[0]) images[1] = cvips_blurred(images[0], sigma * 0.45, render->token);
    if (images[1]) images[2] = cvips_blurred(images[0], sigma, render->token);
    VipsImage *out = NULL;
    if (images[2]) out = cvips_kernel_image(images, 3, tilt_row, tables, render->token);
    else g_free(tables);
    for (int i = 0; i < 3; i++) VIPS_UNREF(images[i]);
    return end(render, out);
}

// --- Sharpen

typedef struct sharpen_tables {
    // In 1/256.
    int32_t amount;
} sharpen_tables;

static int luma(const uint8_t *p) { return (54 * p[0] + 183 * p[1] + 19 * p[2] + 128) >> 8; }

// The same difference goes to all three channels, so that edges get no coloured fringes.
static void sharpen_row(
    const cvips_kernel *kernel, uint8_t *out, const uint8_t *const *in, int left, int y, int width,
    int bands) {
    (void)left;
    (void)y;
    int32_t amount = ((const sharpen_tables *)kernel->tables)->amount;
    const uint8_t *p = in[0], *soft = in[1];
    for (int x = 0; x < width; x++, p += bands, soft += bands, out += bands) {
        int difference = (luma(p) - luma(soft)) * amount / 256;
        int maximum = bands == 4 ? p[3] : 255;
        for (int c = 0; c < 3; c++) out[c] = (uint8_t)CLAMP(p[c] + difference, 0, maximum);
        if (bands == 4) out[3] = p[3];
    }
}

cvips_status cvips_render_sharpen(cvips_render *render, double sigma, double amount) {
    sharpen_tables *tables = g_try_new(sharpen_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    tables->amount = (int32_t)lrint(amount * 256);
    VipsImage *images[2] = {begin(render), NULL};
    if (images[0]) images[1] = cvips_blurred(images[0], sigma, render->token);
    VipsImage *out = NULL;
    if (images[1]) out = cvips_kernel_image(images, 2, sharpen_row, tables, render->token);
    else g_free(tables);
    for (int i = 0; i < 2; i++) VIPS_UNREF(images[i]);
    return end(render, out);
}
