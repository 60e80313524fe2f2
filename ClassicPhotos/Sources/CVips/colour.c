// Steps that read one pixel at a time, as table lookups, for 8-bit samples; colour16.c has those for
// 16-bit samples. For Core Image's sepia, the lookups are
// more than ten times faster than the same arithmetic as a chain of libvips operations.

#include "internal.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

// Linear light has 14 bits. At the dark end, where sRGB is steepest, that still leaves five steps
// for each 8-bit level.
enum { LINEAR_STEPS = 1 << 14, LINEAR_MAXIMUM = LINEAR_STEPS - 1 };

// Tables that do not depend on parameters; written once, before any thread reads them.
static struct {
    double linear[256];
    // Each channel's share of the luminance, with 8 extra bits so that the sum rounds only once.
    uint32_t luminance[3][256];
    uint8_t encoded[LINEAR_STEPS];
    double log2_of_step[LINEAR_STEPS];
} shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

double cvips_decode_srgb(double v) {
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

double cvips_encode_srgb(double v) {
    return v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static void fill_shared(void) {
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    for (int v = 0; v < 256; v++) {
        shared.linear[v] = cvips_decode_srgb(v / 255.0);
        for (int c = 0; c < 3; c++)
            shared.luminance[c][v] =
                (uint32_t)lrint(weights[c] * shared.linear[v] * LINEAR_MAXIMUM * 256);
    }
    for (int i = 0; i < LINEAR_STEPS; i++) {
        double v = (double)i / LINEAR_MAXIMUM;
        shared.encoded[i] = (uint8_t)lrint(255 * cvips_encode_srgb(v));
        shared.log2_of_step[i] = log2(v);
    }
}

// --- Tone

typedef struct tone_tables {
    uint16_t keep[256];
    uint16_t tone[3][LINEAR_STEPS];
} tone_tables;

static void tone_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    (void)y;
    const tone_tables *tables = data;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        uint32_t luminance = (shared.luminance[0][p[0]] + shared.luminance[1][p[1]] +
                              shared.luminance[2][p[2]] + 128) >> 8;
        for (int c = 0; c < 3; c++) {
            uint32_t sum = (uint32_t)tables->keep[p[c]] + tables->tone[c][luminance];
            out[c] = shared.encoded[MIN(sum, LINEAR_MAXIMUM)];
        }
        if (bands == 4) out[3] = p[3];
    }
}

cvips_status cvips_render_tone(
    cvips_render *render, double intensity, const double gain[3], const double exponent[3]) {
    if (render->in.depth == 2) {
        cvips_tone tone = {.intensity = intensity};
        memcpy(tone.gain, gain, sizeof tone.gain);
        memcpy(tone.exponent, exponent, sizeof tone.exponent);
        return cvips_render_tone_16(render, &tone);
    }
    pthread_once(&shared_once, fill_shared);
    tone_tables *tables = g_try_new(tone_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    for (int v = 0; v < 256; v++)
        tables->keep[v] = (uint16_t)lrint((1 - intensity) * shared.linear[v] * LINEAR_MAXIMUM);
    for (int c = 0; c < 3; c++) {
        double scale = intensity * gain[c] * LINEAR_MAXIMUM;
        tables->tone[c][0] = 0;
        for (int i = 1; i < LINEAR_STEPS; i++)
            tables->tone[c][i] = (uint16_t)lrint(scale * exp2(exponent[c] * shared.log2_of_step[i]));
    }
    cvips_row_functions functions = {.eight = tone_row};
    cvips_status status = cvips_render_rows(render, functions, tables, NULL, NULL);
    g_free(tables);
    return status;
}

// --- Recolour

enum { MATRIX_BITS = 14 };

typedef struct recolour_tables {
    int32_t matrix[9];
    uint8_t curves[3 * CVIPS_CURVE_LEVELS];
} recolour_tables;

static void recolour_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    (void)y;
    const recolour_tables *tables = data;
    const int32_t *m = tables->matrix;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        // Read all channels first: `out` and `p` may be the same address.
        int32_t red = p[0], green = p[1], blue = p[2];
        for (int c = 0; c < 3; c++) {
            int32_t sum = m[3 * c] * red + m[3 * c + 1] * green + m[3 * c + 2] * blue;
            int32_t value = (sum + (1 << (MATRIX_BITS - 1))) >> MATRIX_BITS;
            out[c] = tables->curves[256 * c + CLAMP(value, 0, 255)];
        }
        if (bands == 4) out[3] = p[3];
    }
}

cvips_status cvips_render_recolour(
    cvips_render *render, const double matrix[9], const uint16_t *curves) {
    if (render->in.depth == 2) return cvips_render_recolour_16(render, matrix, curves);
    recolour_tables *tables = g_try_new(recolour_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    for (int i = 0; i < 9; i++) tables->matrix[i] = (int32_t)lrint(matrix[i] * (1 << MATRIX_BITS));
    for (int i = 0; i < 3 * CVIPS_CURVE_LEVELS; i++) tables->curves[i] = (uint8_t)curves[i];
    cvips_row_functions functions = {.eight = recolour_row};
    cvips_status status = cvips_render_rows(render, functions, tables, NULL, NULL);
    g_free(tables);
    return status;
}

// --- Vignette

enum { VIGNETTE_STEPS = 1024, VIGNETTE_ONE = 1 << 12 };

typedef struct vignette_tables {
    double centre_x, centre_y;
    // Converts squared pixels to table steps; the last step is the corner.
    double scale;
    // Indexed by squared distance, so that no pixel needs a square root.
    uint32_t factor[VIGNETTE_STEPS + 1];
} vignette_tables;

static void vignette_row(
    const void *data, uint8_t *out, const uint8_t *const *in, int y, int width, int bands) {
    const vignette_tables *tables = data;
    double dy = y - tables->centre_y;
    const uint8_t *p = in[0];
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        double dx = x - tables->centre_x;
        int step = (int)((dx * dx + dy * dy) * tables->scale + 0.5);
        uint32_t factor = tables->factor[MIN(step, VIGNETTE_STEPS)];
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)((p[c] * factor + VIGNETTE_ONE / 2) / VIGNETTE_ONE);
        if (bands == 4) out[3] = p[3];
    }
}

cvips_status cvips_render_vignette(cvips_render *render, double amount, double start) {
    if (render->in.depth == 2) return cvips_render_vignette_16(render, amount, start);
    vignette_tables *tables = g_try_new(vignette_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    tables->centre_x = (render->in.width - 1) / 2.0;
    tables->centre_y = (render->in.height - 1) / 2.0;
    double corner =
        tables->centre_x * tables->centre_x + tables->centre_y * tables->centre_y;
    tables->scale = VIGNETTE_STEPS / MAX(corner, 1);
    for (int i = 0; i <= VIGNETTE_STEPS; i++) {
        double distance = sqrt((double)i / VIGNETTE_STEPS);
        double t = CLAMP((distance - start) / MAX(1 - start, 1e-6), 0, 1);
        double eased = t * t * (3 - 2 * t);
        tables->factor[i] = (uint32_t)lrint((1 - amount * eased) * VIGNETTE_ONE);
    }
    cvips_row_functions functions = {.eight = vignette_row};
    cvips_status status = cvips_render_rows(render, functions, tables, NULL, NULL);
    g_free(tables);
    return status;
}
