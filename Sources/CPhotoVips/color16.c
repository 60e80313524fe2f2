#ifdef PhotoImaging
// The steps of color.c for 16-bit samples. A table with an entry for each 16-bit level of linear
// light would be too coarse for dark colors, so these steps interpolate between the points of
// smaller tables.

#include "internal.h"

#include <math.h>
#include <pthread.h>

// A function on 0...1 at evenly spaced points.
enum { POINTS = 4096 };
typedef struct curve {
    // The last entry repeats the value at 1, so that a place of exactly 1 has a right neighbor.
    float values[POINTS + 2];
} curve;

static float curve_at(const curve *curve, float place) {
    float scaled = CLAMP(place, 0.0f, 1.0f) * POINTS;
    int index = (int)scaled;
    float low = curve->values[index];
    return low + (scaled - (float)index) * (curve->values[index + 1] - low);
}

// Tables that do not depend on parameters; written once, before any thread reads them.
static struct {
    float linear[65536];
    // Encodes a linear value from its square root, which is spread more evenly.
    curve encoded;
} shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

static void fill_shared(void) {
    for (int v = 0; v < 65536; v++) shared.linear[v] = (float)cvips_decode_srgb(v / 65535.0);
    for (int i = 0; i <= POINTS + 1; i++) {
        double root = MIN(1, (double)i / POINTS);
        shared.encoded.values[i] = (float)cvips_encode_srgb(root * root);
    }
}

static uint16_t level(float value) {
    return (uint16_t)(CLAMP(value, 0.0f, 1.0f) * 65535.0f + 0.5f);
}

// --- Tone

typedef struct tone_tables {
    float keep;
    // The part of the tone in the result, over the square root of the luminance.
    curve tone[3];
} tone_tables;

static inline void tone_pixel(
    const tone_tables *tables, uint16_t *out, const uint16_t *in, int x, int y) {
    (void)x;
    (void)y;
    float linear[3] = {shared.linear[in[0]], shared.linear[in[1]], shared.linear[in[2]]};
    float root = sqrtf(0.2126f * linear[0] + 0.7152f * linear[1] + 0.0722f * linear[2]);
    for (int c = 0; c < 3; c++) {
        float mixed = tables->keep * linear[c] + curve_at(&tables->tone[c], root);
        out[c] = level(curve_at(&shared.encoded, sqrtf(MAX(mixed, 0.0f))));
    }
}
CVIPS_DEFINE_ROW(tone, uint16_t)

cvips_status cvips_render_tone_16(cvips_render *render, const cvips_tone *tone) {
    pthread_once(&shared_once, fill_shared);
    tone_tables *tables = g_try_new(tone_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    tables->keep = (float)(1 - tone->intensity);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i <= POINTS + 1; i++) {
            double root = MIN(1, (double)i / POINTS);
            tables->tone[c].values[i] =
                (float)(tone->intensity * tone->gain[c] * pow(root, 2 * tone->exponent[c]));
        }
    return cvips_render_pixels(render, tone_row, tables);
}

// --- Recolor

typedef struct recolor_tables {
    float matrix[9];
    curve curves[3];
} recolor_tables;

static inline void recolor_pixel(
    const recolor_tables *tables, uint16_t *out, const uint16_t *in, int x, int y) {
    (void)x;
    (void)y;
    const float *m = tables->matrix;
    float red = in[0] / 65535.0f, green = in[1] / 65535.0f, blue = in[2] / 65535.0f;
    for (int c = 0; c < 3; c++) {
        float sum = m[3 * c] * red + m[3 * c + 1] * green + m[3 * c + 2] * blue;
        out[c] = level(curve_at(&tables->curves[c], sum));
    }
}
CVIPS_DEFINE_ROW(recolor, uint16_t)

cvips_status cvips_render_recolor_16(
    cvips_render *render, const double matrix[9], const uint16_t *curves) {
    G_STATIC_ASSERT(CVIPS_CURVE_POINTS == POINTS + 1);
    recolor_tables *tables = g_try_new(recolor_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    for (int i = 0; i < 9; i++) tables->matrix[i] = (float)matrix[i];
    for (int c = 0; c < 3; c++)
        for (int i = 0; i <= POINTS + 1; i++)
            tables->curves[c].values[i] =
                curves[c * CVIPS_CURVE_POINTS + MIN(i, POINTS)] / 65535.0f;
    return cvips_render_pixels(render, recolor_row, tables);
}

// --- Vignette

typedef struct vignette_tables {
    double centre_x, centre_y;
    // Converts squared pixels to the place on the curve; 1 is the corner.
    double scale;
    curve factor;
} vignette_tables;

static inline void vignette_pixel(
    const vignette_tables *tables, uint16_t *out, const uint16_t *in, int x, int y) {
    double dx = x - tables->centre_x, dy = y - tables->centre_y;
    float factor = curve_at(&tables->factor, (float)((dx * dx + dy * dy) * tables->scale));
    for (int c = 0; c < 3; c++) out[c] = (uint16_t)(in[c] * factor + 0.5f);
}
CVIPS_DEFINE_ROW(vignette, uint16_t)

cvips_status cvips_render_vignette_16(cvips_render *render, double amount, double start) {
    vignette_tables *tables = g_try_new(vignette_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    tables->centre_x = (render->in.width - 1) / 2.0;
    tables->centre_y = (render->in.height - 1) / 2.0;
    double corner =
        tables->centre_x * tables->centre_x + tables->centre_y * tables->centre_y;
    tables->scale = 1 / MAX(corner, 1);
    for (int i = 0; i <= POINTS + 1; i++) {
        double distance = sqrt(MIN(1, (double)i / POINTS));
        double t = CLAMP((distance - start) / MAX(1 - start, 1e-6), 0, 1);
        tables->factor.values[i] = (float)(1 - amount * t * t * (3 - 2 * t));
    }
    return cvips_render_pixels(render, vignette_row, tables);
}
#endif
