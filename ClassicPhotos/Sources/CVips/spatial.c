// Steps that read neighbouring pixels.
//
// With alpha, the steps work on premultiplied colours. Otherwise the hidden colour of transparent
// pixels would bleed into visible ones.

#include "internal.h"

#include <math.h>

static void premultiply_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    (void)data;
    (void)y;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        for (int c = 0; c < 3; c++) out[c] = (uint8_t)((p[c] * p[3] + 127) / 255);
        out[3] = p[3];
    }
}

static void unpremultiply_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    (void)data;
    (void)y;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        int alpha = p[3];
        for (int c = 0; c < 3; c++)
            out[c] = alpha ? (uint8_t)MIN(255, (p[c] * 255 + alpha / 2) / alpha) : 0;
        out[3] = p[3];
    }
}

// Every step of this file starts with begin() and finishes with end().
static cvips_status begin(cvips_render *render) {
    if (render->in.bands != 4) return CVIPS_STATUS_OK;
    return cvips_render_rows(render, premultiply_row, NULL, NULL, NULL);
}

static cvips_status end(cvips_render *render) {
    if (render->in.bands != 4) return CVIPS_STATUS_OK;
    return cvips_render_rows(render, unpremultiply_row, NULL, NULL, NULL);
}

static cvips_status blur_current(cvips_render *render, double sigma, cvips_picture *out) {
    return cvips_blurred(cvips_render_current(render), sigma, render->token, out);
}

cvips_status cvips_render_blur(cvips_render *render, double sigma) {
    cvips_picture soft = {NULL, 0, 0, 0};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &soft);
    if (status != CVIPS_STATUS_OK) return status;
    cvips_render_replace(render, soft);
    return end(render);
}

// --- Tilt-shift

enum { TILT_ONE = 256 };

typedef struct tilt_tables {
    // A weight for each row, from 0 (sharp) to 2 * TILT_ONE (fully blurred). Mixing the sharp and
    // the fully blurred picture directly would show both at once, as a glow, so a half-blurred
    // picture stands between them.
    uint16_t weights[1];
} tilt_tables;

static void tilt_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    const tilt_tables *tables = data;
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
    tilt_tables *tables = make_tilt_tables(render->in.height, centre, band, transition);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    cvips_picture half = {NULL, 0, 0, 0}, full = {NULL, 0, 0, 0};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma * 0.45, &half);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &full);
    if (status == CVIPS_STATUS_OK)
        status = cvips_render_rows(render, tilt_row, tables, &half, &full);
    g_free(tables);
    g_free(half.pixels);
    g_free(full.pixels);
    return status == CVIPS_STATUS_OK ? end(render) : status;
}

// --- Sharpen

typedef struct sharpen_tables {
    // In units of 1/256.
    int32_t amount;
} sharpen_tables;

static int luma(const uint8_t *p) { return (54 * p[0] + 183 * p[1] + 19 * p[2] + 128) >> 8; }

// Adds the same difference to all three channels, so that edges get no coloured fringes.
static void sharpen_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    (void)y;
    int32_t amount = ((const sharpen_tables *)data)->amount;
    const uint8_t *p = in[0], *soft = in[1];
    for (int x = 0; x < width; x++, p += bands, soft += bands, out += bands) {
        int difference = (luma(p) - luma(soft)) * amount / 256;
        int maximum = bands == 4 ? p[3] : 255;
        for (int c = 0; c < 3; c++) out[c] = (uint8_t)CLAMP(p[c] + difference, 0, maximum);
        if (bands == 4) out[3] = p[3];
    }
}

cvips_status cvips_render_sharpen(cvips_render *render, double sigma, double amount) {
    sharpen_tables tables = {(int32_t)lrint(amount * 256)};
    cvips_picture soft = {NULL, 0, 0, 0};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &soft);
    if (status == CVIPS_STATUS_OK)
        status = cvips_render_rows(render, sharpen_row, &tables, &soft, NULL);
    g_free(soft.pixels);
    return status == CVIPS_STATUS_OK ? end(render) : status;
}
