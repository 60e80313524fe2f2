#ifdef PhotoImaging
// Tells complete JPEGs from damaged ones, which libvips cannot do.
//
// A JPEG decoder fills missing data with gray and writes a warning. But the decoder also warns
// about extra bytes before a marker, which some cameras write and which are invisible in the
// picture. libvips reports that a warning occurred, but not which one. So a picture with a warning
// is decoded again here, without its colors, by a decoder whose warnings we handle.
//
// Layout of the file: ISO/IEC 10918-1, annex B.

#include "internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
// This header depends on the one above.
#include <jerror.h>

// --- Markers

enum {
    MARKER_SOF0 = 0xC0,
    MARKER_DHT = 0xC4,
    MARKER_JPG = 0xC8,
    MARKER_DAC = 0xCC,
    MARKER_SOF15 = 0xCF,
    MARKER_RST0 = 0xD0,
    MARKER_RST7 = 0xD7,
    MARKER_SOI = 0xD8,
    MARKER_EOI = 0xD9,
    MARKER_SOS = 0xDA,
    MARKER_TEM = 0x01
};

enum { COMPONENTS = 4, COEFFICIENTS = 64, NEVER_SENT = -1 };

// More scans are not counted. Encoders write about ten.
enum { MOST_SCANS = 1000 };

typedef struct frame {
    bool is_known, is_progressive;
    // Whether the file's first scan has all components in full.
    bool is_whole_at_once;
    int width, height, components, scans;
    uint8_t ids[COMPONENTS], across[COMPONENTS], down[COMPONENTS];
    // How many bits of each coefficient are still to come.
    int8_t missing_bits[COMPONENTS][COEFFICIENTS];
} frame;

static int read_16(const uint8_t *p) { return p[0] << 8 | p[1]; }

static bool is_start_of_frame(int marker) {
    return marker >= MARKER_SOF0 && marker <= MARKER_SOF15 && marker != MARKER_DHT &&
        marker != MARKER_JPG && marker != MARKER_DAC;
}

// `p` points to the segment's data, after the length field.
static void read_frame(const uint8_t *p, size_t count, int marker, frame *frame) {
    if (frame->is_known || count < 6 || p[5] > COMPONENTS || count < 6 + 3 * (size_t)p[5]) return;
    frame->is_known = true;
    // SOF2, 6, 10 and 14 are progressive.
    frame->is_progressive = (marker & 3) == 2;
    frame->height = read_16(p + 1);
    frame->width = read_16(p + 3);
    frame->components = p[5];
    memset(frame->missing_bits, NEVER_SENT, sizeof frame->missing_bits);
    for (int i = 0; i < frame->components; i++) {
        frame->ids[i] = p[6 + 3 * i];
        frame->across[i] = p[7 + 3 * i] >> 4;
        frame->down[i] = p[7 + 3 * i] & 15;
    }
}

static void read_scan(const uint8_t *p, size_t count, frame *frame) {
    if (!frame->is_known || count < 1 || count < 4 + 2 * (size_t)p[0]) return;
    if (frame->scans < MOST_SCANS) frame->scans++;
    frame->is_whole_at_once = frame->is_whole_at_once ||
        (frame->scans == 1 && !frame->is_progressive && p[0] == frame->components);
    const uint8_t *spectrum = p + 1 + 2 * p[0];
    int first = frame->is_progressive ? spectrum[0] : 0;
    int last = frame->is_progressive ? MIN(spectrum[1], COEFFICIENTS - 1) : COEFFICIENTS - 1;
    int missing = frame->is_progressive ? spectrum[2] & 15 : 0;
    for (int i = 0; i < p[0]; i++)
        for (int c = 0; c < frame->components; c++)
            if (frame->ids[c] == p[1 + 2 * i])
                for (int k = first; k <= last; k++)
                    frame->missing_bits[c][k] = (int8_t)missing;
}

// Finds the next marker from `at` on that is not part of compressed data, and moves `at` behind the
// marker. Returns -1 at the end.
static int next_marker(const uint8_t *bytes, size_t count, size_t *at) {
    while (*at < count) {
        const uint8_t *found = memchr(bytes + *at, 0xFF, count - *at);
        if (!found) break;
        *at = (size_t)(found - bytes) + 1;
        while (*at < count && bytes[*at] == 0xFF) ++*at;
        if (*at >= count) break;
        int marker = bytes[(*at)++];
        bool is_data = marker == 0 || marker == MARKER_TEM || marker == MARKER_SOI ||
            (marker >= MARKER_RST0 && marker <= MARKER_RST7);
        if (!is_data) return marker;
    }
    return -1;
}

static frame read_markers(const uint8_t *bytes, size_t count) {
    frame frame = {.is_known = false};
    size_t at = 0;
    for (;;) {
        int marker = next_marker(bytes, count, &at);
        if (marker < 0 || marker == MARKER_EOI || count - at < 2) return frame;
        size_t length = (size_t)read_16(bytes + at);
        if (length < 2 || length > count - at) return frame;
        if (is_start_of_frame(marker)) read_frame(bytes + at + 2, length - 2, marker, &frame);
        if (marker == MARKER_SOS) read_scan(bytes + at + 2, length - 2, &frame);
        if (frame.is_whole_at_once) return frame;
        at += length;
    }
}

// Whether every coefficient of the component that the file begins is complete to the last bit,
// including the mean. A progressive file cut between two scans is otherwise valid, but looks
// blurred or gray.
static bool is_component_whole(const frame *frame, int component) {
    bool has_detail = !frame->is_progressive;
    const int8_t *missing = frame->missing_bits[component];
    for (int k = 1; k < COEFFICIENTS; k++) {
        if (missing[k] > 0) return false;
        if (missing[k] == 0) has_detail = true;
    }
    return missing[0] == 0 && has_detail;
}

static int64_t coefficient_bytes(const frame *frame) {
    int most_across = 1, most_down = 1;
    for (int i = 0; i < frame->components; i++) {
        most_across = MAX(most_across, frame->across[i]);
        most_down = MAX(most_down, frame->down[i]);
    }
    int64_t sum = 0;
    for (int i = 0; i < frame->components; i++) {
        int64_t width = ((int64_t)frame->width * frame->across[i] + most_across - 1) / most_across;
        int64_t height = ((int64_t)frame->height * frame->down[i] + most_down - 1) / most_down;
        // Blocks of 8 x 8 coefficients of 16 bits, in rows and columns of whole macroblocks.
        sum += (width + 31) / 8 * ((height + 31) / 8) * 64 * 2;
    }
    return sum;
}

cvips_jpeg_layout cvips_jpeg_read_layout(const uint8_t *bytes, size_t count) {
    frame frame = read_markers(bytes, count);
    // If this code does not understand the file, the decoder decides.
    cvips_jpeg_layout layout = {
        .coefficient_bytes = 0, .scans = frame.scans,
        .has_all_scans = !frame.is_known || frame.scans > 0};
    for (int i = 0; i < frame.components; i++)
        layout.has_all_scans = layout.has_all_scans && is_component_whole(&frame, i);
    if (frame.is_progressive || frame.scans > 1)
        layout.coefficient_bytes = coefficient_bytes(&frame);
    return layout;
}

// --- Data

typedef struct examination {
    struct jpeg_decompress_struct decoder;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf end;
    const cvips_token *token;
    cvips_status status;
} examination;

static void end_examination(examination *examination, cvips_status status) {
    examination->status = status;
    longjmp(examination->end, 1);
}

static void on_error(j_common_ptr decoder) {
    end_examination(decoder->client_data, CVIPS_STATUS_DAMAGED);
}

bool cvips_jpeg_is_damage(int message) {
    switch (message) {
    // The data stops, is invalid, or continues elsewhere.
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_JPEG_EOF: return true;
    // Extra bytes, and headers that break the standard.
    default: return false;
    }
}

static void on_message(j_common_ptr decoder, int level) {
    // Other levels are notes, not warnings.
    if (level < 0 && cvips_jpeg_is_damage(decoder->err->msg_code))
        end_examination(decoder->client_data, CVIPS_STATUS_DAMAGED);
}

static void on_output(j_common_ptr decoder) { (void)decoder; }

static void on_progress(j_common_ptr decoder) {
    examination *examination = decoder->client_data;
    cvips_status stopped = cvips_token_check(examination->token);
    if (stopped != CVIPS_STATUS_OK) end_examination(examination, stopped);
}

// Decodes at an eighth of the size and in the stored colors: only the presence of the data
// matters.
static void read_all(examination *examination, const uint8_t *bytes, size_t count) {
    struct jpeg_decompress_struct *decoder = &examination->decoder;
    jpeg_mem_src(decoder, bytes, count);
    jpeg_read_header(decoder, TRUE);
    decoder->scale_num = 1;
    decoder->scale_denom = 8;
    decoder->out_color_space = decoder->jpeg_color_space;
    decoder->do_fancy_upsampling = FALSE;
    decoder->dct_method = JDCT_FASTEST;
    jpeg_start_decompress(decoder);
    JSAMPARRAY row = decoder->mem->alloc_sarray(
        (j_common_ptr)decoder, JPOOL_IMAGE,
        decoder->output_width * (JDIMENSION)decoder->output_components, 1);
    while (decoder->output_scanline < decoder->output_height) jpeg_read_scanlines(decoder, row, 1);
}

cvips_status cvips_jpeg_examine(const uint8_t *bytes, size_t count, const cvips_token *token) {
    examination *examination = g_try_malloc0(sizeof *examination);
    if (!examination) return CVIPS_STATUS_OUT_OF_MEMORY;
    examination->token = token;
    examination->decoder.err = jpeg_std_error(&examination->errors);
    examination->errors.error_exit = on_error;
    examination->errors.emit_message = on_message;
    examination->errors.output_message = on_output;
    examination->progress.progress_monitor = on_progress;
    examination->decoder.client_data = examination;
    if (!setjmp(examination->end)) {
        jpeg_create_decompress(&examination->decoder);
        // Creating the decoder clears all of its fields except the errors and the client data.
        examination->decoder.progress = &examination->progress;
        read_all(examination, bytes, count);
    }
    jpeg_destroy_decompress(&examination->decoder);
    cvips_status status = examination->status;
    g_free(examination);
    return status;
}
#endif
