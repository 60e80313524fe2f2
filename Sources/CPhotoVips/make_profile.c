#ifdef PhotoImaging
// Makes ICC profiles of color spaces that a file names without a profile. With a profile, such a
// picture takes the same way to sRGB as all others.
//
// Layout: ICC.1:2001-04 (version 2). Adaptation to D50: Bradford's matrix, ICC.1:2022, annex E.

#include "internal.h"

#include <math.h>
#include <string.h>

// --- Matrices of 3 x 3, row by row

static void multiply(const double a[9], const double b[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static void apply(const double m[9], const double v[3], double out[3]) {
    for (int i = 0; i < 3; i++)
        out[i] = m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2];
}

static bool invert(const double m[9], double out[9]) {
    double minors[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int r0 = (i + 1) % 3, r1 = (i + 2) % 3, c0 = (j + 1) % 3, c1 = (j + 2) % 3;
            minors[3 * i + j] = m[3 * r0 + c0] * m[3 * r1 + c1] - m[3 * r0 + c1] * m[3 * r1 + c0];
        }
    double determinant = m[0] * minors[0] + m[1] * minors[1] + m[2] * minors[2];
    // Primaries on a line, or no numbers.
    if (!(fabs(determinant) > 1e-6)) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = minors[3 * j + i] / determinant;
    return true;
}

// The light of a chromaticity with the luminance 1.
static bool light(const double xy[2], double out[3]) {
    if (!(xy[1] > 0.001 && xy[1] <= 1 && fabs(xy[0]) <= 1)) return false;
    out[0] = xy[0] / xy[1];
    out[1] = 1;
    out[2] = (1 - xy[0] - xy[1]) / xy[1];
    return true;
}

static const double d50[3] = {0.9642, 1, 0.8249};

// The matrix that turns what is white into D50.
static bool adaptation(const double white[3], double out[9]) {
    static const double bradford[9] = {
        0.8951, 0.2664, -0.1614, -0.7502, 1.7135, 0.0367, 0.0389, -0.0685, 1.0296};
    double inverse[9], from[3], to[3], scaled[9];
    if (!invert(bradford, inverse)) return false;
    apply(bradford, white, from);
    apply(bradford, d50, to);
    for (int i = 0; i < 3; i++) {
        if (!(from[i] > 0.01)) return false;
        for (int j = 0; j < 3; j++) scaled[3 * i + j] = to[i] / from[i] * bradford[3 * i + j];
    }
    multiply(inverse, scaled, out);
    return true;
}

// The primaries as columns of XYZ, adapted to D50.
static bool colorants(const cvips_primaries *primaries, double out[9]) {
    double xyz[9], inverse[9], white[3], sums[3], adapted[9];
    for (int c = 0; c < 3; c++) {
        double column[3];
        if (!light(primaries->colors[c], column)) return false;
        for (int i = 0; i < 3; i++) xyz[3 * i + c] = column[i];
    }
    if (!light(primaries->white, white) || !invert(xyz, inverse) || !adaptation(white, adapted))
        return false;
    // So much of each primary makes white.
    apply(inverse, white, sums);
    for (int i = 0; i < 9; i++) xyz[i] *= sums[i % 3];
    multiply(adapted, xyz, out);
    return true;
}

// --- Profiles

static void put_32(GByteArray *to, uint32_t value) {
    const uint8_t bytes[4] = {
        (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
    g_byte_array_append(to, bytes, 4);
}

static void put_16(GByteArray *to, uint32_t value) {
    const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};
    g_byte_array_append(to, bytes, 2);
}

static void put_name(GByteArray *to, const char *name) {
    g_byte_array_append(to, (const guint8 *)name, 4);
}

static void put_xyz(GByteArray *to, double x, double y, double z) {
    put_name(to, "XYZ ");
    put_32(to, 0);
    const double values[3] = {x, y, z};
    for (int i = 0; i < 3; i++) put_32(to, (uint32_t)(int32_t)lrint(values[i] * 65536));
}

// The length of a tag with a color, and the number of entries of a curve.
enum { XYZ_LENGTH = 20, CURVE_ENTRIES = 4096, HEADER_LENGTH = 128, ENTRY_LENGTH = 12 };

static void put_curve(GByteArray *to, double (*curve)(double, double), double parameter) {
    put_name(to, "curv");
    put_32(to, 0);
    put_32(to, CURVE_ENTRIES);
    for (int i = 0; i < CURVE_ENTRIES; i++) {
        double value = curve((double)i / (CURVE_ENTRIES - 1), parameter);
        put_16(to, (uint32_t)lrint(65535 * CLAMP(value, 0, 1)));
    }
}

static void put_header(GByteArray *to, bool is_gray) {
    put_32(to, 0);
    put_name(to, "\0\0\0\0");
    put_32(to, 0x02400000);
    put_name(to, "mntr");
    put_name(to, is_gray ? "GRAY" : "RGB ");
    put_name(to, "XYZ ");
    // A date.
    for (int i = 0; i < 6; i++) put_16(to, i < 3 ? (i ? 1 : 2001) : 0);
    put_name(to, "acsp");
    while (to->len < 68) put_32(to, 0);
    for (int i = 0; i < 3; i++) put_32(to, (uint32_t)lrint(d50[i] * 65536));
    while (to->len < HEADER_LENGTH) put_32(to, 0);
}

GByteArray *cvips_profile_make(
    const cvips_primaries *primaries, bool is_gray, double (*curve)(double, double),
    double parameter) {
    double columns[9] = {0};
    if (!is_gray && !colorants(primaries, columns)) return NULL;
    static const char *const gray_tags[] = {"wtpt", "kTRC"};
    static const char *const color_tags[] = {
        "wtpt", "rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC"};
    const char *const *tags = is_gray ? gray_tags : color_tags;
    const uint32_t count = is_gray ? G_N_ELEMENTS(gray_tags) : G_N_ELEMENTS(color_tags);
    const uint32_t colors = is_gray ? 1 : 4;
    const uint32_t start = HEADER_LENGTH + 4 + ENTRY_LENGTH * count;
    GByteArray *profile = g_byte_array_new();
    put_header(profile, is_gray);
    put_32(profile, count);
    for (uint32_t i = 0; i < count; i++) {
        // All curves are one.
        put_name(profile, tags[i]);
        put_32(profile, start + XYZ_LENGTH * MIN(i, colors));
        put_32(profile, i < colors ? XYZ_LENGTH : 12 + 2 * CURVE_ENTRIES);
    }
    put_xyz(profile, d50[0], d50[1], d50[2]);
    for (int c = 0; c < 3 && !is_gray; c++)
        put_xyz(profile, columns[c], columns[3 + c], columns[6 + c]);
    put_curve(profile, curve, parameter);
    for (int i = 0; i < 4; i++) profile->data[i] = (uint8_t)(profile->len >> (24 - 8 * i));
    return profile;
}
#endif
