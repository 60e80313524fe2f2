#ifdef PhotoImaging
// The step of a look: a curve for each channel, then a cube of colors. Both are interpolated; the
// cube in tetrahedra, which keeps gray on the diagonal of the cube and needs four entries a pixel.

#include "internal.h"

#include <string.h>

// An entry: red, green, blue, and a fourth number that is ignored.
typedef float vector __attribute__((vector_size(16)));

static inline vector entry_at(const float *entries, size_t index) {
    vector value;
    memcpy(&value, entries + 4 * index, sizeof value);
    return value;
}

// A place between two neighboring entries of a table.
typedef struct place {
    // The entry before the place.
    uint32_t index;
    // The share of the way to the next entry, 0...1.
    float share;
} place;

static inline place find_place(const cvips_table *table, int channel, float value) {
    float low = table->minimum[channel], high = table->maximum[channel];
    float scaled = CLAMP((value - low) / (high - low), 0.0f, 1.0f) * (float)(table->size - 1);
    uint32_t index = MIN((uint32_t)scaled, (uint32_t)table->size - 2);
    return (place){.index = index, .share = scaled - (float)index};
}

// The value of a channel after its curve.
static inline float curve_at(const cvips_look *look, int channel, float value) {
    if (!look->curves.entries) return value;
    place place = find_place(&look->curves, channel, value);
    const float *entry = look->curves.entries + 4 * (size_t)place.index + channel;
    return entry[0] + place.share * (entry[4] - entry[0]);
}

// The color of the cube at three places. The corners of the tetrahedron are reached from the first
// one by a step along the axis with the largest share, then along the next ones.
static inline vector cube_at(const cvips_table *cube, place red, place green, place blue) {
    const size_t side = (size_t)cube->size, plane = side * side;
    const size_t at = red.index + side * green.index + plane * blue.index;
    const float r = red.share, g = green.share, b = blue.share;
    size_t first, second;
    float high, middle, low;
    if (r >= g) {
        if (g >= b) first = 1, second = 1 + side, high = r, middle = g, low = b;
        else if (r >= b) first = 1, second = 1 + plane, high = r, middle = b, low = g;
        else first = plane, second = plane + 1, high = b, middle = r, low = g;
    } else {
        if (r >= b) first = side, second = side + 1, high = g, middle = r, low = b;
        else if (g >= b) first = side, second = side + plane, high = g, middle = b, low = r;
        else first = plane, second = plane + side, high = b, middle = g, low = r;
    }
    return (1 - high) * entry_at(cube->entries, at) +
           (high - middle) * entry_at(cube->entries, at + first) +
           (middle - low) * entry_at(cube->entries, at + second) +
           low * entry_at(cube->entries, at + 1 + side + plane);
}

static inline float mix(const cvips_look *look, float before, float after) {
    return CLAMP(before + look->intensity * (after - before), 0.0f, 1.0f);
}

// --- 8 bits: what depends on one channel alone is looked up by its level.

typedef struct look_tables {
    const cvips_look *look;
    // For a look with a cube.
    place places[3][256];
    // For a look without one.
    uint8_t levels[3][256];
} look_tables;

static void fill_tables(look_tables *tables, const cvips_look *look) {
    tables->look = look;
    for (int c = 0; c < 3; c++)
        for (int level = 0; level < 256; level++) {
            float before = (float)level / 255.0f, after = curve_at(look, c, before);
            if (look->cube.entries) tables->places[c][level] = find_place(&look->cube, c, after);
            else tables->levels[c][level] = (uint8_t)(mix(look, before, after) * 255.0f + 0.5f);
        }
}

static inline void look_pixel(
    const look_tables *tables, uint8_t *out, const uint8_t *in, int x, int y) {
    (void)x;
    (void)y;
    const cvips_look *look = tables->look;
    if (look->cube.entries) {
        vector color = cube_at(
            &look->cube, tables->places[0][in[0]], tables->places[1][in[1]],
            tables->places[2][in[2]]);
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)(mix(look, (float)in[c] / 255.0f, color[c]) * 255.0f + 0.5f);
    } else {
        for (int c = 0; c < 3; c++) out[c] = tables->levels[c][in[c]];
    }
}
CVIPS_DEFINE_ROW(look, uint8_t)

// --- 16 bits

static inline void look_16_pixel(
    const cvips_look *look, uint16_t *out, const uint16_t *in, int x, int y) {
    (void)x;
    (void)y;
    vector before = {0}, after = {0};
    for (int c = 0; c < 3; c++) {
        before[c] = (float)in[c] / 65535.0f;
        after[c] = curve_at(look, c, before[c]);
    }
    if (look->cube.entries)
        after = cube_at(
            &look->cube, find_place(&look->cube, 0, after[0]),
            find_place(&look->cube, 1, after[1]), find_place(&look->cube, 2, after[2]));
    for (int c = 0; c < 3; c++)
        out[c] = (uint16_t)(mix(look, before[c], after[c]) * 65535.0f + 0.5f);
}
CVIPS_DEFINE_ROW(look_16, uint16_t)

cvips_status cvips_render_look(cvips_render *render, const cvips_look *look) {
    if (render->in.depth == 2) {
        cvips_row_functions functions = {.sixteen = look_16_row};
        return cvips_render_rows(render, functions, look, NULL, NULL);
    }
    look_tables *tables = g_try_new(look_tables, 1);
    if (!tables) return CVIPS_STATUS_OUT_OF_MEMORY;
    fill_tables(tables, look);
    return cvips_render_pixels(render, look_row, tables);
}
#endif
