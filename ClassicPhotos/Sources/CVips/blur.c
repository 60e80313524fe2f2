// Gaussian blur over memory. libvips has a Gaussian blur too, but its fast integer path shifts flat
// areas by up to two levels, and its exact path is several times slower than this code.
//
// A wide blur works on a smaller copy. The blurred result has no detail that the copy lacks, and
// the time no longer grows with sigma.

#include "internal.h"

#include <math.h>
#include <string.h>

static int row_length(const cvips_picture *picture) { return picture->width * picture->bands; }

static uint8_t *row_at(const cvips_picture *picture, int y) {
    return picture->pixels + (size_t)CLAMP(y, 0, picture->height - 1) * (size_t)row_length(picture);
}

// Averages blocks of factor x factor pixels; blocks at the right and bottom may be smaller.
static cvips_status shrink(
    const cvips_picture *in, int factor, const cvips_token *token, cvips_picture *out) {
    int width = (in->width + factor - 1) / factor, height = (in->height + factor - 1) / factor;
    cvips_status status = cvips_picture_new(width, height, in->bands, out);
    uint32_t *sums = g_try_new(uint32_t, (size_t)width * (size_t)in->bands);
    if (status == CVIPS_STATUS_OK && !sums) status = CVIPS_STATUS_OUT_OF_MEMORY;
    for (int y = 0; y < height && status == CVIPS_STATUS_OK; y++) {
        status = cvips_token_check(token);
        memset(sums, 0, sizeof *sums * (size_t)width * (size_t)in->bands);
        int rows = MIN(factor, in->height - y * factor);
        for (int i = 0; i < rows; i++) {
            const uint8_t *p = row_at(in, y * factor + i);
            for (int x = 0; x < in->width; x++, p += in->bands)
                for (int c = 0; c < in->bands; c++) sums[x / factor * in->bands + c] += p[c];
        }
        uint8_t *q = row_at(out, y);
        for (int x = 0; x < width; x++) {
            uint32_t count = (uint32_t)(MIN(factor, in->width - x * factor) * rows);
            for (int c = 0; c < in->bands; c++, q++)
                *q = (uint8_t)((sums[x * in->bands + c] + count / 2) / count);
        }
    }
    g_free(sums);
    return status;
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

static void store(const float *sums, int count, uint8_t *out) {
    for (int i = 0; i < count; i++) out[i] = (uint8_t)(sums[i] + 0.5f);
}

// Loops tap by tap over whole rows, not pixel by pixel, so that the compiler emits vector code.
static void blur_row(
    const cvips_picture *in, int y, const float *weights, int radius, float *padded, float *sums,
    uint8_t *out) {
    int bands = in->bands, count = row_length(in);
    const uint8_t *p = row_at(in, y);
    for (int x = -radius; x < in->width + radius; x++)
        for (int c = 0; c < bands; c++)
            padded[(x + radius) * bands + c] = p[CLAMP(x, 0, in->width - 1) * bands + c];
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int tap = 0; tap <= 2 * radius; tap++) {
        const float *from = padded + tap * bands;
        for (int i = 0; i < count; i++) sums[i] += weights[tap] * from[i];
    }
    store(sums, count, out);
}

static void blur_columns(
    const cvips_picture *in, int y, const float *weights, int radius, float *sums, uint8_t *out) {
    int count = row_length(in);
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int tap = 0; tap <= 2 * radius; tap++) {
        const uint8_t *from = row_at(in, y + tap - radius);
        for (int i = 0; i < count; i++) sums[i] += weights[tap] * from[i];
    }
    store(sums, count, out);
}

static cvips_status blur_exactly(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out) {
    int radius = 0;
    cvips_picture half = {NULL, 0, 0, 0};
    float *weights = make_weights(sigma, &radius);
    float *sums = g_try_new(float, (size_t)row_length(in));
    float *padded = g_try_new(float, (size_t)(in->width + 2 * radius) * (size_t)in->bands);
    cvips_status status = weights && sums && padded ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
    if (status == CVIPS_STATUS_OK)
        status = cvips_picture_new(in->width, in->height, in->bands, &half);
    if (status == CVIPS_STATUS_OK)
        status = cvips_picture_new(in->width, in->height, in->bands, out);
    for (int y = 0; y < in->height && status == CVIPS_STATUS_OK; y++) {
        blur_row(in, y, weights, radius, padded, sums, row_at(&half, y));
        status = cvips_token_check(token);
    }
    for (int y = 0; y < in->height && status == CVIPS_STATUS_OK; y++) {
        blur_columns(&half, y, weights, radius, sums, row_at(out, y));
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
    int bands = in->bands;
    float *row = g_try_new(float, (size_t)row_length(in));
    cvips_status status = row ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
    for (int y = 0; y < out->height && status == CVIPS_STATUS_OK; y++) {
        status = cvips_token_check(token);
        double place = MAX(0, (y + 0.5) / factor - 0.5);
        int top = (int)place;
        float share = (float)(place - top);
        const uint8_t *a = row_at(in, top), *b = row_at(in, top + 1);
        for (int i = 0; i < row_length(in); i++) row[i] = a[i] + share * (float)(b[i] - a[i]);
        uint8_t *q = row_at(out, y);
        for (int x = 0; x < out->width; x++) {
            float across = MAX(0.0f, ((float)x + 0.5f) / (float)factor - 0.5f);
            int left = (int)across, right = MIN(left + 1, in->width - 1);
            for (int c = 0; c < bands; c++, q++) {
                float from = row[left * bands + c], to = row[right * bands + c];
                *q = (uint8_t)(from + (across - (float)left) * (to - from) + 0.5f);
            }
        }
    }
    g_free(row);
    return status;
}

static cvips_status blur_small(
    const cvips_picture *in, double sigma, int factor, const cvips_token *token,
    cvips_picture *out) {
    cvips_picture small = {NULL, 0, 0, 0}, soft = {NULL, 0, 0, 0};
    // Averaging blocks and interpolating add a small blur of their own; variances add up.
    double variance = sigma * sigma - (factor * factor - 1) / 12.0 - factor * factor / 6.0;
    cvips_status status = shrink(in, factor, token, &small);
    if (status == CVIPS_STATUS_OK)
        status = blur_exactly(&small, sqrt(variance) / factor, token, &soft);
    if (status == CVIPS_STATUS_OK)
        status = cvips_picture_new(in->width, in->height, in->bands, out);
    if (status == CVIPS_STATUS_OK) status = enlarge(&soft, factor, token, out);
    g_free(small.pixels);
    g_free(soft.pixels);
    return status;
}

static cvips_status copy(const cvips_picture *in, cvips_picture *out) {
    cvips_status status = cvips_picture_new(in->width, in->height, in->bands, out);
    if (status == CVIPS_STATUS_OK)
        memcpy(out->pixels, in->pixels, (size_t)row_length(in) * (size_t)in->height);
    return status;
}

cvips_status cvips_blurred(
    const cvips_picture *in, double sigma, const cvips_token *token, cvips_picture *out) {
    int factor = (int)(sigma / 4);
    cvips_status status = sigma < 0.25 // Each neighbour weighs less than half a level.
        ? copy(in, out)
        : factor > 1 ? blur_small(in, sigma, factor, token, out)
                     : blur_exactly(in, sigma, token, out);
    if (status != CVIPS_STATUS_OK) {
        g_free(out->pixels);
        out->pixels = NULL;
    }
    return status;
}
