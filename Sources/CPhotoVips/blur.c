#ifdef PhotoImaging
// Gaussian blur over memory. libvips has a Gaussian blur too, but its fast integer path shifts flat
// areas by up to two levels, and its exact path is several times slower than this code.
//
// A wide blur works on a smaller copy. The blurred result has no detail that the copy lacks, and
// the time no longer grows with sigma.

#include "internal.h"

#include <math.h>
#include <string.h>

// The number of samples in a row.
static int row_length(const cvips_picture *picture) { return picture->width * picture->bands; }

static uint8_t *row_at(const cvips_picture *picture, int y) {
    return picture->pixels +
        (size_t)CLAMP(y, 0, picture->height - 1) * (size_t)(row_length(picture) * picture->depth);
}

// The shape of a picture with another size.
static cvips_status make_like(
    const cvips_picture *in, int width, int height, cvips_picture *out) {
    *out = *in;
    out->width = width;
    out->height = height;
    return cvips_picture_new(out);
}

// Makes 2 * radius + 1 weights that add up to 1.
static float *make_weights(double sigma, int *radius) {
    *radius = MAX(1, (int)ceil(3 * sigma));
    float *weights = g_try_new(float, 2 * (size_t)*radius + 1);
    if (!weights) return NULL;
    double sum = 0;
    for (int i = -*radius; i <= *radius; i++) sum += exp(-i * i / (2 * sigma * sigma));
    for (int i = -*radius; i <= *radius; i++)
        weights[i + *radius] = (float)(exp(-i * i / (2 * sigma * sigma)) / sum);
    return weights;
}

#define SAMPLE uint8_t
#define NAME(name) name##_8
#include "blur_rows.h"
#undef SAMPLE
#undef NAME

#define SAMPLE uint16_t
#define NAME(name) name##_16
#include "blur_rows.h"
#undef SAMPLE
#undef NAME

// Averages blocks of factor x factor pixels; blocks at the right and bottom may be smaller.
static cvips_status shrink(
    const cvips_picture *in, int factor, const cvips_token *token, cvips_picture *out) {
    int width = (in->width + factor - 1) / factor, height = (in->height + factor - 1) / factor;
    cvips_status status = make_like(in, width, height, out);
    // A sum of 16-bit samples may need more than 32 bits.
    uint64_t *sums = g_try_new(uint64_t, (size_t)width * (size_t)in->bands);
    if (status == CVIPS_STATUS_OK && !sums) status = CVIPS_STATUS_OUT_OF_MEMORY;
    for (int y = 0; y < height && status == CVIPS_STATUS_OK; y++) {
        status = cvips_token_check(token);
        (in->depth == 2 ? shrink_row_16 : shrink_row_8)(in, y, factor, sums, out);
    }
    g_free(sums);
    return status;
}

static cvips_status blur_exactly(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out) {
    int radius = 0;
    bool is_16 = in->depth == 2;
    cvips_picture half = {.pixels = NULL};
    float *weights = make_weights(sigma, &radius);
    float *sums = g_try_new(float, (size_t)row_length(in));
    float *padded = g_try_new(float, (size_t)(in->width + 2 * radius) * (size_t)in->bands);
    cvips_status status = weights && sums && padded ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
    if (status == CVIPS_STATUS_OK)
        status = make_like(in, in->width, in->height, &half);
    if (status == CVIPS_STATUS_OK) status = make_like(in, in->width, in->height, out);
    for (int y = 0; y < in->height && status == CVIPS_STATUS_OK; y++) {
        (is_16 ? blur_row_16 : blur_row_8)(
            in, y, weights, radius, padded, sums, row_at(&half, y));
        status = cvips_token_check(token);
    }
    for (int y = 0; y < in->height && status == CVIPS_STATUS_OK; y++) {
        (is_16 ? blur_columns_16 : blur_columns_8)(
            &half, y, weights, radius, sums, row_at(out, y));
        status = cvips_token_check(token);
    }
    g_free(half.pixels);
    g_free(padded);
    g_free(sums);
    g_free(weights);
    return status;
}

// Interpolates linearly back to full size. The interpolated picture is smooth (its sigma is about
// 4), so a better kernel would change the result by less than one level.
static cvips_status enlarge(
    const cvips_picture *in, int factor, const cvips_token *token, cvips_picture *out) {
    float *row = g_try_new(float, (size_t)row_length(in));
    cvips_status status = row ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
    for (int y = 0; y < out->height && status == CVIPS_STATUS_OK; y++) {
        status = cvips_token_check(token);
        (in->depth == 2 ? enlarge_row_16 : enlarge_row_8)(in, y, factor, row, out);
    }
    g_free(row);
    return status;
}

static cvips_status blur_small(
    const cvips_picture *in, double sigma, int factor, const cvips_token *token,
    cvips_picture *out) {
    cvips_picture small = {.pixels = NULL}, soft = {.pixels = NULL};
    // Averaging blocks and interpolating add a small blur of their own; variances add up.
    double variance = sigma * sigma - (factor * factor - 1) / 12.0 - factor * factor / 6.0;
    cvips_status status = shrink(in, factor, token, &small);
    if (status == CVIPS_STATUS_OK)
        status = blur_exactly(&small, sqrt(variance) / factor, token, &soft);
    if (status == CVIPS_STATUS_OK) status = make_like(in, in->width, in->height, out);
    if (status == CVIPS_STATUS_OK) status = enlarge(&soft, factor, token, out);
    g_free(small.pixels);
    g_free(soft.pixels);
    return status;
}

static cvips_status copy(const cvips_picture *in, cvips_picture *out) {
    cvips_status status = make_like(in, in->width, in->height, out);
    if (status == CVIPS_STATUS_OK) memcpy(out->pixels, in->pixels, cvips_picture_size(in));
    return status;
}

cvips_status cvips_blurred(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out) {
    int factor = (int)(sigma / 4);
    // Each neighbor weighs less than half a level of 8 bits, or of 16 bits.
    double least = in->depth == 2 ? 0.19 : 0.25;
    cvips_status status = sigma < least
        ? copy(in, out)
        : factor > 1 ? blur_small(in, sigma, factor, token, out)
                     : blur_exactly(in, sigma, token, out);
    if (status != CVIPS_STATUS_OK) {
        g_free(out->pixels);
        out->pixels = NULL;
    }
    return status;
}
#endif
