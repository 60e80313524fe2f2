#ifdef PhotoImaging
// sRGB: its curve, and just enough of the reading of an ICC profile to recognize it. Most photos
// with a profile have an sRGB profile, and building a color transform costs several milliseconds a
// photo. Layout: ICC.1:2022, sections 7.2 (header), 7.3 (tag table), 10.6 (curve), 10.18
// (parametric).

#include "internal.h"

#include <math.h>
#include <string.h>

typedef struct slice {
    const uint8_t *bytes;
    size_t count;
} slice;

static uint32_t read_32(slice s, size_t at) {
    if (s.count < 4 || at > s.count - 4) return 0;
    const uint8_t *p = s.bytes + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t read_16(slice s, size_t at) {
    if (s.count < 2 || at > s.count - 2) return 0;
    return (uint32_t)s.bytes[at] << 8 | s.bytes[at + 1];
}

static double read_fixed(slice s, size_t at) { return (int32_t)read_32(s, at) / 65536.0; }

static uint32_t signature(const char *name) {
    return read_32((slice){(const uint8_t *)name, 4}, 0);
}

static slice find_tag(slice profile, const char *name) {
    uint32_t tags = MIN(read_32(profile, 128), 100);
    for (uint32_t i = 0; i < tags; i++) {
        size_t entry = 132 + 12 * (size_t)i;
        if (read_32(profile, entry) != signature(name)) continue;
        size_t offset = read_32(profile, entry + 4);
        size_t count = read_32(profile, entry + 8);
        if (offset > profile.count || count > profile.count - offset) break;
        return (slice){profile.bytes + offset, count};
    }
    return (slice){NULL, 0};
}

// The primaries of sRGB adapted to D50, as every sRGB profile stores them.
static bool has_srgb_colorants(slice profile) {
    static const struct { const char *name; double xyz[3]; } expected[3] = {
        {"rXYZ", {0.4361, 0.2225, 0.0139}},
        {"gXYZ", {0.3851, 0.7169, 0.0971}},
        {"bXYZ", {0.1431, 0.0606, 0.7139}},
    };
    for (int i = 0; i < 3; i++) {
        slice tag = find_tag(profile, expected[i].name);
        if (tag.count < 20) return false;
        for (int j = 0; j < 3; j++)
            if (fabs(read_fixed(tag, 8 + 4 * (size_t)j) - expected[i].xyz[j]) > 0.002) return false;
    }
    return true;
}

double cvips_decode_srgb(double v) {
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

double cvips_encode_srgb(double v) {
    return v <= 0.0031308 ? v * 12.92 : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

// The value of the stored curve at v, or -1 for a type of curve that this code does not read.
static double curve_at(slice tag, double v) {
    if (read_32(tag, 0) == signature("curv")) {
        size_t entries = read_32(tag, 8);
        if (entries < 2 || tag.count < 12 || entries > (tag.count - 12) / 2) return -1;
        double place = v * (double)(entries - 1);
        size_t low = MIN((size_t)place, entries - 2);
        double a = read_16(tag, 12 + 2 * low), b = read_16(tag, 14 + 2 * low);
        return (a + (b - a) * (place - (double)low)) / 65535.0;
    }
    if (read_32(tag, 0) == signature("para") && read_16(tag, 8) == 3 && tag.count >= 32) {
        double g = read_fixed(tag, 12), a = read_fixed(tag, 16), b = read_fixed(tag, 20);
        double c = read_fixed(tag, 24), d = read_fixed(tag, 28);
        return v >= d ? pow(a * v + b, g) : c * v;
    }
    return -1;
}

static bool has_srgb_curve(slice profile, const char *name) {
    slice tag = find_tag(profile, name);
    for (int i = 0; i <= 16; i++) {
        double v = i / 16.0;
        // A difference of 0.002 in linear light is far below one 8-bit level wherever it could be
        // visible.
        if (!(fabs(curve_at(tag, v) - cvips_decode_srgb(v)) < 0.002)) return false;
    }
    return true;
}

uint32_t cvips_profile_space(const uint8_t *profile, size_t count) {
    return read_32((slice){profile, count}, 16);
}

bool cvips_profile_is_perceptual(const uint8_t *bytes, size_t count) {
    slice profile = {bytes, count};
    static const char *const others[] = {"A2B1", "rXYZ", "kTRC"};
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (find_tag(profile, others[i]).count) return false;
    return find_tag(profile, "A2B0").count > 0;
}

bool cvips_profile_is_srgb(const uint8_t *bytes, size_t count) {
    slice profile = {bytes, count};
    return has_srgb_colorants(profile) && has_srgb_curve(profile, "rTRC") &&
        has_srgb_curve(profile, "gTRC") && has_srgb_curve(profile, "bTRC");
}
#endif
