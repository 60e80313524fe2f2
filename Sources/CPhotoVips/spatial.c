#ifdef PhotoImaging
// Steps that read neighboring pixels.
//
// With alpha, the steps work on premultiplied colors. Otherwise the hidden color of transparent
// pixels would bleed into visible ones.

#include "internal.h"

#include <math.h>

enum { TILT_ONE = 256 };

typedef struct tilt_tables {
    // A weight for each row, from 0 (sharp) to 2 * TILT_ONE (fully blurred). Mixing the sharp and
    // the fully blurred picture directly would show both at once, as a glow, so a half-blurred
    // picture stands between them.
    uint16_t weights[1];
} tilt_tables;

typedef struct sharpen_tables {
    // In units of 1/256.
    int32_t amount;
} sharpen_tables;

#define SAMPLE uint8_t
#define NAME(name) name##_8
#include "spatial_rows.h"
#undef SAMPLE
#undef NAME

#define SAMPLE uint16_t
#define NAME(name) name##_16
#include "spatial_rows.h"
#undef SAMPLE
#undef NAME

static const cvips_row_functions premultiply = {premultiply_row_8, premultiply_row_16};
static const cvips_row_functions unpremultiply = {unpremultiply_row_8, unpremultiply_row_16};
static const cvips_row_functions tilt = {tilt_row_8, tilt_row_16};
static const cvips_row_functions sharpen = {sharpen_row_8, sharpen_row_16};

// Every step of this file starts with begin() and finishes with end().
static cvips_status begin(cvips_render *render) {
    if (render->in.bands != 4) return CVIPS_STATUS_OK;
    return cvips_render_rows(render, premultiply, NULL, NULL, NULL);
}

static cvips_status end(cvips_render *render) {
    if (render->in.bands != 4) return CVIPS_STATUS_OK;
    return cvips_render_rows(render, unpremultiply, NULL, NULL, NULL);
}

static cvips_status blur_current(cvips_render *render, double sigma, cvips_picture *out) {
    return cvips_blurred(cvips_render_current(render), sigma, render->token, out);
}

cvips_status cvips_render_blur(cvips_render *render, double sigma) {
    cvips_picture soft = {.pixels = NULL};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &soft);
    if (status != CVIPS_STATUS_OK) return status;
    cvips_render_replace(render, soft);
    return end(render);
}

// --- Tilt-shift

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
    cvips_picture half = {.pixels = NULL}, full = {.pixels = NULL};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma * 0.45, &half);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &full);
    if (status == CVIPS_STATUS_OK)
        status = cvips_render_rows(render, tilt, tables, &half, &full);
    g_free(tables);
    g_free(half.pixels);
    g_free(full.pixels);
    return status == CVIPS_STATUS_OK ? end(render) : status;
}

// --- Sharpen

cvips_status cvips_render_sharpen(cvips_render *render, double sigma, double amount) {
    sharpen_tables tables = {(int32_t)lrint(amount * 256)};
    cvips_picture soft = {.pixels = NULL};
    cvips_status status = begin(render);
    if (status == CVIPS_STATUS_OK) status = blur_current(render, sigma, &soft);
    if (status == CVIPS_STATUS_OK)
        status = cvips_render_rows(render, sharpen, &tables, &soft, NULL);
    g_free(soft.pixels);
    return status == CVIPS_STATUS_OK ? end(render) : status;
}
#endif
