#ifdef PhotoImaging
// The color spaces that files name without an ICC profile: Adobe RGB in the EXIF block of a camera,
// and the chunks cICP, gAMA and cHRM of PNG. The picture gets a profile of that space, so that it
// is converted to sRGB as a picture with a profile is.
//
// Sources: DCF 2.0 and Exif 2.32 (Adobe RGB); PNG, third edition, 11.3.2, with the order of
// precedence in 12.1 (chunks); ITU-T H.273 (the numbers of cICP); ITU-R BT.2100 (PQ and HLG) and
// BT.2408 (the light of white in them).

#include "internal.h"

#include <math.h>
#include <string.h>

#define D65 {0.3127, 0.3290}

static const cvips_primaries srgb = {{{0.640, 0.330}, {0.300, 0.600}, {0.150, 0.060}}, D65};
static const cvips_primaries adobe_rgb = {{{0.640, 0.330}, {0.210, 0.710}, {0.150, 0.060}}, D65};

// --- Curves: from encoded to linear light

static double power(double v, double exponent) { return pow(v, exponent); }

static double srgb_curve(double v, double unused) {
    (void)unused;
    return cvips_decode_srgb(v);
}

// The curve of BT.709, BT.601 and BT.2020.
static double video_curve(double v, double unused) {
    (void)unused;
    return v < 0.081 ? v / 4.5 : pow((v + 0.099) / 1.099, 1 / 0.45);
}

// Light brighter than white becomes white: of 203 cd/m2 on the display, as BT.2408 says.
static double pq_curve(double v, double unused) {
    (void)unused;
    const double m1 = 0.1593017578125, m2 = 78.84375;
    const double c1 = 0.8359375, c2 = 18.8515625, c3 = 18.6875;
    double power = pow(v, 1 / m2);
    double light = pow(MAX(power - c1, 0) / (c2 - c3 * power), 1 / m1);
    return light * 10000 / 203;
}

// On a display of 1000 cd/m2, where 203 cd/m2 are three quarters of the signal. The display's
// gamma of 1.2 is applied to each channel.
static double hlg_curve(double v, double unused) {
    (void)unused;
    const double a = 0.17883277, b = 0.28466892, c = 0.55991073;
    double scene = v <= 0.5 ? v * v / 3 : (exp((v - c) / a) + b) / 12;
    return pow(scene, 1.2) * 1000 / 203;
}

typedef double (*curve)(double, double);

// --- PNG

typedef struct png_colors {
    bool has_cicp, has_profile, has_srgb, has_primaries, has_gamma;
    uint8_t cicp[4];
    double gamma;
    cvips_primaries primaries;
} png_colors;

static uint32_t read_32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static double read_share(const uint8_t *p) { return read_32(p) / 100000.0; }

static void read_chunk(const uint8_t *name, const uint8_t *data, size_t length, png_colors *out) {
    if (!memcmp(name, "cICP", 4) && length == 4) {
        out->has_cicp = true;
        memcpy(out->cicp, data, 4);
    } else if (!memcmp(name, "iCCP", 4)) {
        out->has_profile = true;
    } else if (!memcmp(name, "sRGB", 4)) {
        out->has_srgb = true;
    } else if (!memcmp(name, "gAMA", 4) && length == 4) {
        out->gamma = read_share(data);
        // Real files have 0.45 to 1.
        out->has_gamma = out->gamma > 0.05 && out->gamma < 20;
    } else if (!memcmp(name, "cHRM", 4) && length == 32) {
        out->has_primaries = true;
        for (int i = 0; i < 2; i++) {
            out->primaries.white[i] = read_share(data + 4 * i);
            for (int c = 0; c < 3; c++)
                out->primaries.colors[c][i] = read_share(data + 8 + 8 * c + 4 * i);
        }
    }
}

// The chunks about colors, which precede the pixels. Layout: as in cvips_png_frames.
static png_colors read_png(const uint8_t *bytes, size_t count) {
    png_colors colors = {.has_cicp = false};
    for (size_t at = 8; at + 12 <= count;) {
        size_t length = read_32(bytes + at);
        const uint8_t *name = bytes + at + 4;
        if (!memcmp(name, "IDAT", 4) || length > count - at - 12) break;
        read_chunk(name, name + 4, length, &colors);
        at += 12 + length;
    }
    return colors;
}

// The primaries of a number of cICP; NULL for those that are not used for pictures.
static const cvips_primaries *primaries_of(uint8_t number) {
    static const cvips_primaries pal = {{{0.640, 0.330}, {0.290, 0.600}, {0.150, 0.060}}, D65};
    static const cvips_primaries ntsc = {{{0.630, 0.340}, {0.310, 0.595}, {0.155, 0.070}}, D65};
    static const cvips_primaries bt2020 = {{{0.708, 0.292}, {0.170, 0.797}, {0.131, 0.046}}, D65};
    static const cvips_primaries dci = {
        {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}}, {0.314, 0.351}};
    static const cvips_primaries p3 = {{{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}}, D65};
    switch (number) {
    case 1: return &srgb;
    case 5: return &pal;
    case 6:
    case 7: return &ntsc;
    case 9: return &bt2020;
    case 11: return &dci;
    case 12: return &p3;
    default: return NULL;
    }
}

// The curve of a number of cICP; NULL for those that are not used for pictures.
static curve curve_of(uint8_t number, double *exponent) {
    *exponent = 1;
    switch (number) {
    case 1:
    case 6:
    case 14:
    case 15: return video_curve;
    case 4: *exponent = 2.2; return power;
    case 5: *exponent = 2.8; return power;
    case 8: return power;
    case 13: return srgb_curve;
    case 16: return pq_curve;
    case 18: return hlg_curve;
    default: return NULL;
    }
}

// --- Profiles for pictures

static void set_profile(
    VipsImage *image, const cvips_primaries *primaries, curve curve, double exponent) {
    const bool is_gray = image->Bands < 3;
    GByteArray *profile = cvips_profile_make(primaries, is_gray, curve, exponent);
    // The chunk's numbers may be no primaries.
    if (!profile) profile = cvips_profile_make(&srgb, is_gray, curve, exponent);
    if (!profile) return;
    vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile->data, profile->len);
    g_byte_array_unref(profile);
}

static bool are_srgb(const cvips_primaries *primaries) {
    double most = 0;
    for (int i = 0; i < 2; i++) {
        most = MAX(most, fabs(primaries->white[i] - srgb.white[i]));
        for (int c = 0; c < 3; c++)
            most = MAX(most, fabs(primaries->colors[c][i] - srgb.colors[c][i]));
    }
    return most < 0.002;
}

static void set_profile_of_png(VipsImage *image, const uint8_t *bytes, size_t count) {
    png_colors colors = read_png(bytes, count);
    double exponent;
    if (colors.has_cicp) {
        const cvips_primaries *primaries = primaries_of(colors.cicp[0]);
        curve curve = curve_of(colors.cicp[1], &exponent);
        // RGB with all levels; nothing else is allowed in a PNG.
        if (primaries && curve && !colors.cicp[2] && colors.cicp[3] == 1) {
            vips_image_remove(image, VIPS_META_ICC_NAME);
            if (primaries != &srgb || curve != srgb_curve)
                set_profile(image, primaries, curve, exponent);
            return;
        }
    }
    if (colors.has_profile || colors.has_srgb || !(colors.has_gamma || colors.has_primaries))
        return;
    const cvips_primaries *primaries = colors.has_primaries ? &colors.primaries : &srgb;
    // Encoders write 1 / 2.2 and mean sRGB.
    bool is_usual = !colors.has_gamma || fabs(colors.gamma - 1 / 2.2) < 0.01;
    if (is_usual && (image->Bands < 3 || are_srgb(primaries))) return;
    if (is_usual) set_profile(image, primaries, srgb_curve, 1);
    else set_profile(image, primaries, power, 1 / colors.gamma);
}

// Whether the text of an EXIF field begins with one of two values.
static bool has_field(VipsImage *image, const char *name, const char *value, const char *other) {
    const char *text = NULL;
    return vips_image_get_typeof(image, name) && !vips_image_get_string(image, name, &text) &&
        (g_str_has_prefix(text, value) || g_str_has_prefix(text, other));
}

bool cvips_is_adobe_rgb(VipsImage *image, cvips_format format) {
    return format == CVIPS_FORMAT_JPEG && !vips_image_get_typeof(image, VIPS_META_ICC_NAME) &&
        has_field(image, "exif-ifd4-InteroperabilityIndex", "R03", "R03") &&
        // Some cameras write 2, which Exif does not define.
        has_field(image, "exif-ifd2-ColorSpace", "65535 ", "2 ");
}

bool cvips_png_is_hdr(const uint8_t *bytes, size_t count) {
    png_colors colors = read_png(bytes, count);
    return colors.has_cicp && (colors.cicp[1] == 16 || colors.cicp[1] == 18);
}

void cvips_name_space(
    VipsImage *image, cvips_format format, const uint8_t *bytes, size_t count) {
    if (image->Bands >= 3 && image->Type != VIPS_INTERPRETATION_CMYK &&
        cvips_is_adobe_rgb(image, format))
        set_profile(image, &adobe_rgb, power, 563.0 / 256);
    if (format == CVIPS_FORMAT_PNG) set_profile_of_png(image, bytes, count);
}
#endif
