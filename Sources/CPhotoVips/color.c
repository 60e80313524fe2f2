#ifdef PhotoImaging
// Steps that read one pixel at a time, as table lookups, for 8-bit samples; color16.c has those
// for 16-bit samples. For Core Image's sepia, the lookups are more than ten times faster than the
// same arithmetic as a chain of libvips operations.

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
    // Has an entry for the sum of any two steps.
    uint8_t encoded[2 * LINEAR_STEPS];
    double log2_of_step[LINEAR_STEPS];
} shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

static void fill_shared(void) {
    for (int v = 0; v < 256; v++) shared.linear[v] = cvips_decode_srgb(v / 255.0);
    for (int i = 0; i < LINEAR_STEPS; i++) {
        double v = (double)i / LINEAR_MAXIMUM;
        shared.encoded[i] = (uint8_t)lrint(255 * cvips_encode_srgb(v));
        shared.log2_of_step[i] = log2(v);
    }
    memset(shared.encoded + LINEAR_STEPS, 255, LINEAR_STEPS);
}

// --- Tone
//
// A pixel's three channels are computed together, in one number with four fields: three channels of
// 15 bits in linear light, which can hold the sum of two steps, and above them the luminance, with
// 5 extra bits so that its sum rounds only once.

enum { FIELD_BITS = 15, FIELD_MASK = (1 << FIELD_BITS) - 1, LUMINANCE_EXTRA_BITS = 5 };

typedef struct tone_tables {
    // For a level of each channel: what is kept of it, and its share of the luminance.
    uint64_t level[3][256];
    // For a luminance: the tone's channels.
    uint64_t tone[LINEAR_STEPS];
} tone_tables;

static inline void tone_pixel(
    const tone_tables *tables, uint8_t *out, const uint8_t *in, int x, int y) {
    (void)x;
    (void)y;
    uint64_t sum = tables->level[0][in[0]] + tables->level[1][in[1]] + tables->level[2][in[2]];
    sum += tables->tone[sum >> (3 * FIELD_BITS + LUMINANCE_EXTRA_BITS)];
    out[0] = shared.encoded[sum & FIELD_MASK];
    out[1] = shared.encoded[sum >> FIELD_BITS & FIELD_MASK];
    out[2] = shared.encoded[sum >> 2 * FIELD_BITS & FIELD_MASK];
}
CVIPS_DEFINE_ROW(tone, uint8_t)

static void fill_tone(tone_tables *tables, const cvips_tone *tone) {
    static const double weights[3] = {0.2126, 0.7152, 0.0722};
    memset(tables->tone, 0, sizeof tables->tone);
    for (int c = 0; c < 3; c++) {
        int shift = c * FIELD_BITS;
        for (int v = 0; v < 256; v++) {
            double linear = shared.linear[v] * LINEAR_MAXIMUM;
            uint64_t share = (uint64_t)lrint(weights[c] * linear * (1 << LUMINANCE_EXTRA_BITS));
            // Half a step for rounding, once for each pixel.
            if (c == 0) share += 1 << (LUMINANCE_EXTRA_BITS - 1);
            uint64_t kept = (uint64_t)lrint((1 - tone->intensity) * linear);
            tables->level[c][v] = share << 3 * FIELD_BITS | kept << shift;
        }
        double scale = tone->intensity * tone->gain[c] * LINEAR_MAXIMUM;
        for (int i = 1; i < LINEAR_STEPS; i++) {
            double value = scale * exp2(tone->exponent[c] * shared.log2_of_step[i]);
            tables->tone[i] |= (uint64_t)lrint(MIN(value, LINEAR_MAXIMUM)) << shift;
        }
    }
}

// The tables of the last few tones. Filling them takes as long as toning a small picture, and most
// programs apply one tone to many pictures.
typedef struct cached_tone {
    cvips_tone tone;
    tone_tables *tables;
    // The number of renders that use the tables.
    int users;
    uint64_t last_use;
} cached_tone;

enum { CACHED_TONES = 4 };
static cached_tone cache[CACHED_TONES];
static uint64_t cache_uses;
static pthread_mutex_t cache_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool equals(const cvips_tone *a, const cvips_tone *b) {
    bool is_equal = a->intensity == b->intensity;
    for (int c = 0; c < 3; c++)
        is_equal = is_equal && a->gain[c] == b->gain[c] && a->exponent[c] == b->exponent[c];
    return is_equal;
}

// Returns an entry with tables, which the caller gives back; NULL if the tone is not in the cache.
static cached_tone *borrow_tone(const cvips_tone *tone) {
    cached_tone *found = NULL;
    pthread_mutex_lock(&cache_mutex);
    for (int i = 0; i < CACHED_TONES && !found; i++)
        if (cache[i].tables && equals(&cache[i].tone, tone)) found = &cache[i];
    if (found) {
        found->users++;
        found->last_use = ++cache_uses;
    }
    pthread_mutex_unlock(&cache_mutex);
    return found;
}

static void return_tone(cached_tone *entry) {
    pthread_mutex_lock(&cache_mutex);
    entry->users--;
    pthread_mutex_unlock(&cache_mutex);
}

// Keeps tables in place of those that have been unused for longest; frees what is not kept.
static void keep_tone(const cvips_tone *tone, tone_tables *tables) {
    tone_tables *unused = tables;
    pthread_mutex_lock(&cache_mutex);
    cached_tone *oldest = NULL;
    for (int i = 0; i < CACHED_TONES; i++)
        if (!cache[i].users && (!oldest || cache[i].last_use < oldest->last_use))
            oldest = &cache[i];
    if (oldest) {
        unused = oldest->tables;
        *oldest = (cached_tone){.tone = *tone, .tables = tables, .last_use = ++cache_uses};
    }
    pthread_mutex_unlock(&cache_mutex);
    g_free(unused);
}

cvips_status cvips_render_tone(
    cvips_render *render, double intensity, const double gain[3], const double exponent[3]) {
    cvips_tone tone = {.intensity = intensity};
    memcpy(tone.gain, gain, sizeof tone.gain);
    memcpy(tone.exponent, exponent, sizeof tone.exponent);
    if (render->in.depth == 2) return cvips_render_tone_16(render, &tone);
    cvips_row_functions functions = {.eight = tone_row};
    cached_tone *entry = borrow_tone(&tone);
    if (entry) {
        cvips_status status = cvips_render_rows(render, functions, entry->tables, NULL, NULL);
        return_tone(entry);
        return status;
    }
    pthread_once(&shared_once, fill_shared);
    tone_tables *tables = g_try_new(tone_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    fill_tone(tables, &tone);
    cvips_status status = cvips_render_rows(render, functions, tables, NULL, NULL);
    keep_tone(&tone, tables);
    return status;
}

// --- Recolor

enum { MATRIX_BITS = 14 };

typedef struct recolor_tables {
    int32_t matrix[9];
    uint8_t curves[3 * CVIPS_CURVE_LEVELS];
} recolor_tables;

static inline void recolor_pixel(
    const recolor_tables *tables, uint8_t *out, const uint8_t *in, int x, int y) {
    (void)x;
    (void)y;
    const int32_t *m = tables->matrix;
    int32_t red = in[0], green = in[1], blue = in[2];
    for (int c = 0; c < 3; c++) {
        int32_t sum = m[3 * c] * red + m[3 * c + 1] * green + m[3 * c + 2] * blue;
        int32_t value = (sum + (1 << (MATRIX_BITS - 1))) >> MATRIX_BITS;
        out[c] = tables->curves[256 * c + CLAMP(value, 0, 255)];
    }
}
CVIPS_DEFINE_ROW(recolor, uint8_t)

cvips_status cvips_render_recolor(
    cvips_render *render, const double matrix[9], const uint16_t *curves) {
    if (render->in.depth == 2) return cvips_render_recolor_16(render, matrix, curves);
    recolor_tables *tables = g_try_new(recolor_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    for (int i = 0; i < 9; i++) tables->matrix[i] = (int32_t)lrint(matrix[i] * (1 << MATRIX_BITS));
    for (int i = 0; i < 3 * CVIPS_CURVE_LEVELS; i++) tables->curves[i] = (uint8_t)curves[i];
    return cvips_render_pixels(render, recolor_row, tables);
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

static inline void vignette_pixel(
    const vignette_tables *restrict tables, uint8_t *out, const uint8_t *in, int x, int y) {
    double dx = x - tables->centre_x, dy = y - tables->centre_y;
    int step = (int)((dx * dx + dy * dy) * tables->scale + 0.5);
    uint32_t factor = tables->factor[MIN(step, VIGNETTE_STEPS)];
    for (int c = 0; c < 3; c++)
        out[c] = (uint8_t)((in[c] * factor + VIGNETTE_ONE / 2) / VIGNETTE_ONE);
}
CVIPS_DEFINE_ROW(vignette, uint8_t)

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
    return cvips_render_pixels(render, vignette_row, tables);
}
#endif
