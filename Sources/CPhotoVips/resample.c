#ifdef PhotoImaging
// Shrinks a picture row by row while it is decoded, so that the decoded picture is never in memory
// as a whole.
//
// Every pixel of the result is a weighted mean of pixels around its place, first down the columns
// and then along the row. The weights are those of Lanczos' kernel with three lobes, stretched by
// the factor: the kernel that libvips uses, too.

#include "internal.h"

#include <math.h>
#include <string.h>

enum { LOBES = 3, BANDS = CVIPS_SHRINK_BANDS };

// One pixel between the two passes.
typedef float pixel __attribute__((vector_size(BANDS * sizeof(float))));

// The weights of one axis: for each place of the result, `count` weights from `first[place]` on.
typedef struct weights {
    int count;
    int *first;
    float *values;
} weights;

struct cvips_shrink {
    int width, height;
    cvips_picture out;
    weights across, down;
    // The last rows of the input, as many as the kernel is high; row y is at y modulo the number.
    uint8_t *rows;
    // The number of rows that were given, and that were written.
    int given, written;
    // A row of the input at the height of a row of the result.
    pixel *line;
};

static double lanczos(double x) {
    if (fabs(x) < 1e-9) return 1;
    if (fabs(x) >= LOBES) return 0;
    double angle = G_PI * x;
    return LOBES * sin(angle) * sin(angle / LOBES) / (angle * angle);
}

// The kernel for an input whose pixels are means of `square` pixels. Such a mean is a little
// blurred; the neighbors' negative weights undo that for all details that the result can show.
static double kernel(double distance, double factor, int square) {
    double neighbor = (1 - 1.0 / (square * square)) / 24;
    double weight = (1 + 2 * neighbor) * lanczos(distance / factor);
    if (neighbor > 0)
        weight -= neighbor *
            (lanczos((distance - 1) / factor) + lanczos((distance + 1) / factor));
    return weight;
}

// `length` is the number of pixels of the picture along the axis.
static bool make_weights(int length, int to, int square, weights *out) {
    int from = (length + square - 1) / square;
    double factor = (double)length / square / to, radius = LOBES * factor + (square > 1);
    out->count = MIN(from, (int)ceil(2 * radius) + 1);
    out->first = g_try_new(int, to);
    out->values = g_try_new(float, (size_t)to * (size_t)out->count);
    if (!out->first || !out->values) return false;
    for (int place = 0; place < to; place++) {
        double centre = (place + 0.5) * factor - 0.5;
        int first = CLAMP((int)ceil(centre - radius), 0, from - out->count);
        float *values = out->values + (size_t)place * (size_t)out->count;
        float sum = 0;
        for (int i = 0; i < out->count; i++) {
            values[i] = (float)kernel(first + i - centre, factor, square);
            sum += values[i];
        }
        for (int i = 0; i < out->count; i++) values[i] /= sum;
        out->first[place] = first;
    }
    return true;
}

cvips_shrink *cvips_shrink_new(int width, int height, int square, const cvips_picture *out) {
    cvips_shrink *shrink = g_try_new0(cvips_shrink, 1);
    if (!shrink) return NULL;
    shrink->width = (width + square - 1) / square;
    shrink->height = (height + square - 1) / square;
    shrink->out = *out;
    if (make_weights(width, out->width, square, &shrink->across) &&
        make_weights(height, out->height, square, &shrink->down)) {
        shrink->rows = g_try_malloc((size_t)shrink->width * BANDS * (size_t)shrink->down.count);
        shrink->line = g_try_new(pixel, (size_t)shrink->width);
        if (shrink->rows && shrink->line) return shrink;
    }
    cvips_shrink_free(shrink);
    return NULL;
}

void cvips_shrink_free(cvips_shrink *shrink) {
    if (!shrink) return;
    g_free(shrink->across.first);
    g_free(shrink->across.values);
    g_free(shrink->down.first);
    g_free(shrink->down.values);
    g_free(shrink->rows);
    g_free(shrink->line);
    g_free(shrink);
}

static uint8_t *row_at(const cvips_shrink *shrink, int y) {
    size_t slot = (size_t)(y % shrink->down.count);
    return shrink->rows + slot * (size_t)shrink->width * BANDS;
}

uint8_t *cvips_shrink_next_row(cvips_shrink *shrink) { return row_at(shrink, shrink->given); }

// Adds up to two rows, so that half as many sums are read and written.
CVIPS_FOR_EACH_PROCESSOR
static void add_rows(
    float *restrict sums, const uint8_t *restrict a, float weight_a, const uint8_t *restrict b,
    float weight_b, size_t count) {
    for (size_t i = 0; i < count; i++)
        sums[i] += weight_a * (float)a[i] + weight_b * (float)b[i];
}

CVIPS_FOR_EACH_PROCESSOR
static void write_row(
    uint8_t *restrict out, const pixel *restrict line, const weights *across, int width) {
    for (int x = 0; x < width; x++, out += 3) {
        const float *values = across->values + (size_t)x * (size_t)across->count;
        const pixel *from = line + across->first[x];
        pixel sum = {0};
        for (int i = 0; i < across->count; i++) sum += values[i] * from[i];
        for (int c = 0; c < 3; c++) {
            float value = sum[c] + 0.5f;
            out[c] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

// Writes the next row of the result, whose input rows are all present.
static void write_next(cvips_shrink *shrink) {
    const weights *down = &shrink->down;
    int first = down->first[shrink->written];
    const float *values = down->values + (size_t)shrink->written * (size_t)down->count;
    size_t count = (size_t)shrink->width * BANDS;
    memset(shrink->line, 0, count * sizeof(float));
    for (int i = 0; i < down->count; i += 2) {
        // With an odd number of rows, the last one is added alone.
        int next = MIN(i + 1, down->count - 1);
        add_rows(
            (float *)shrink->line, row_at(shrink, first + i), values[i],
            row_at(shrink, first + next), next > i ? values[next] : 0, count);
    }
    size_t length = (size_t)shrink->out.width * 3;
    write_row(
        shrink->out.pixels + length * (size_t)shrink->written, shrink->line, &shrink->across,
        shrink->out.width);
    shrink->written++;
}

void cvips_shrink_give_row(cvips_shrink *shrink) {
    shrink->given++;
    while (shrink->written < shrink->out.height &&
           shrink->down.first[shrink->written] + shrink->down.count <= shrink->given)
        write_next(shrink);
}
#endif
