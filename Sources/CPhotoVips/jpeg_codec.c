#ifdef PhotoImaging
// Decodes and encodes common JPEGs with libjpeg-turbo directly.
//
// For small pictures of photos, libvips takes more time around the decoder than the decoder itself.
// Here, the decoder writes its rows straight into the picture or into the shrinking, and no bytes
// are copied. Everything rarer is left to libvips.

#include "internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
// This header depends on the one above.
#include <jerror.h>

// libjpeg reports an error by a jump. So everything that has to be freed is in this struct.
typedef struct codec {
    union {
        struct jpeg_common_struct common;
        struct jpeg_decompress_struct decoder;
        struct jpeg_compress_struct encoder;
    };
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf end;
    const cvips_token *token;
    cvips_status status;
    cvips_shrink *shrink;
    cvips_picture picture;
    uint8_t *row;
    struct jpeg_destination_mgr destination;
    uint8_t *written;
    size_t capacity;
} codec;

static void end(codec *codec, cvips_status status) {
    codec->status = status;
    longjmp(codec->end, 1);
}

static void on_error(j_common_ptr common) {
    codec *codec = common->client_data;
    bool is_memory = common->err->msg_code == JERR_OUT_OF_MEMORY;
    end(codec, is_memory ? CVIPS_STATUS_OUT_OF_MEMORY : CVIPS_STATUS_FAILED);
}

static void on_message(j_common_ptr common, int level) {
    if (level >= 0) return;
    // The decoder's input ends with the file.
    if (common->err->msg_code == JWRN_JPEG_EOF) end(common->client_data, CVIPS_STATUS_FAILED);
    if (cvips_jpeg_is_damage(common->err->msg_code))
        end(common->client_data, CVIPS_STATUS_DAMAGED);
}

static void on_output(j_common_ptr common) { (void)common; }

static void check_token(codec *codec) {
    cvips_status stopped = cvips_token_check(codec->token);
    if (stopped != CVIPS_STATUS_OK) end(codec, stopped);
}

static void on_progress(j_common_ptr common) { check_token(common->client_data); }

static codec *codec_new(const cvips_token *token) {
    codec *codec = g_try_malloc0(sizeof *codec);
    if (!codec) return NULL;
    codec->token = token;
    codec->common.err = jpeg_std_error(&codec->errors);
    codec->errors.error_exit = on_error;
    codec->errors.emit_message = on_message;
    codec->errors.output_message = on_output;
    codec->progress.progress_monitor = on_progress;
    codec->common.client_data = codec;
    return codec;
}

static void codec_free(codec *codec) {
    jpeg_destroy(&codec->common);
    cvips_shrink_free(codec->shrink);
    g_free(codec->row);
    g_free(codec);
}

// --- Decoding

// Whether the pixels are in sRGB, or in gray without a profile.
static bool is_srgb(codec *codec) {
    struct jpeg_decompress_struct *decoder = &codec->decoder;
    switch (decoder->jpeg_color_space) {
    case JCS_GRAYSCALE:
    case JCS_YCbCr:
    case JCS_RGB: break;
    default: return false;
    }
    JOCTET *profile = NULL;
    unsigned count = 0;
    // A profile that cannot be put together is ignored, as by libvips.
    if (!jpeg_read_icc_profile(decoder, &profile, &count)) return true;
    bool is_srgb = decoder->num_components == 3 && cvips_profile_is_srgb(profile, count);
    free(profile);
    return is_srgb;
}

// The decoder itself can shrink by 2, 4 or 8, and then does much less work. The rest of the way has
// at least this factor, so that Lanczos' kernel decides how the result looks. With a factor of 2,
// the result would hardly look better (SSIM 0.999 instead of 0.995 to 0.999, compared with Lanczos'
// kernel on the full picture), and take 1.3 to 1.4 times as long.
static const double least_shrink = 1.2;

static void choose_scale(struct jpeg_decompress_struct *decoder, double factor) {
    decoder->scale_num = 1;
    decoder->scale_denom = 1;
    while (decoder->scale_denom < 8 && factor / (decoder->scale_denom * 2) >= least_shrink)
        decoder->scale_denom *= 2;
}

// Reads the header and makes the picture. Returns false for a picture that needs libvips.
static bool begin(codec *codec, const cvips_info *info, int box_width, int box_height) {
    struct jpeg_decompress_struct *decoder = &codec->decoder;
    enum { MOST_PROFILE_BYTES = 0xFFFF };
    jpeg_save_markers(decoder, JPEG_APP0 + 2, MOST_PROFILE_BYTES);
    jpeg_read_header(decoder, TRUE);
    if (info->is_adobe_rgb) return false;
    if ((int)decoder->image_width != info->width || (int)decoder->image_height != info->height ||
        !is_srgb(codec))
        return false;
    double factor = MAX(1, MAX((double)info->width / box_width, (double)info->height / box_height));
    // A full-size picture that is turned would be in memory twice.
    if (factor == 1 && info->orientation >= 2) return false;
    codec->picture = (cvips_picture){
        .width = MAX(1, (int)(info->width / factor + 0.5)),
        .height = MAX(1, (int)(info->height / factor + 0.5)), .bands = 3, .depth = 1, .frames = 1};
    choose_scale(decoder, factor);
    decoder->out_color_space = factor > 1 ? JCS_EXT_RGBX : JCS_EXT_RGB;
    jpeg_start_decompress(decoder);
    if (cvips_picture_new(&codec->picture) != CVIPS_STATUS_OK)
        end(codec, CVIPS_STATUS_OUT_OF_MEMORY);
    if (factor == 1) return true;
    codec->shrink = cvips_shrink_new(
        info->width, info->height, (int)decoder->scale_denom, &codec->picture);
    if (!codec->shrink) end(codec, CVIPS_STATUS_OUT_OF_MEMORY);
    return true;
}

static void read_rows(codec *codec) {
    struct jpeg_decompress_struct *decoder = &codec->decoder;
    size_t length = (size_t)codec->picture.width * 3;
    while (decoder->output_scanline < decoder->output_height) {
        JSAMPROW row = codec->shrink ? cvips_shrink_next_row(codec->shrink)
                                     : codec->picture.pixels + length * decoder->output_scanline;
        jpeg_read_scanlines(decoder, &row, 1);
        if (codec->shrink) cvips_shrink_give_row(codec->shrink);
    }
}

cvips_status cvips_jpeg_decode(
    const uint8_t *bytes, size_t count, const cvips_info *info, int box_width, int box_height,
    const cvips_token *token, cvips_picture *out) {
    codec *codec = codec_new(token);
    if (!codec) return CVIPS_STATUS_OUT_OF_MEMORY;
    if (!setjmp(codec->end)) {
        jpeg_create_decompress(&codec->decoder);
        // Creating the decoder clears all of its fields except the errors and the client data.
        codec->decoder.progress = &codec->progress;
        jpeg_mem_src(&codec->decoder, bytes, count);
        if (begin(codec, info, box_width, box_height)) read_rows(codec);
        else codec->status = CVIPS_STATUS_UNAVAILABLE;
    }
    cvips_picture picture = codec->picture;
    cvips_status status = codec->status;
    codec_free(codec);
    if (status == CVIPS_STATUS_OK) status = cvips_turn_picture(&picture, info->orientation);
    if (status == CVIPS_STATUS_OK) *out = picture;
    else g_free(picture.pixels);
    return status;
}

// --- Encoding

static void start_writing(j_compress_ptr encoder) { (void)encoder; }

static void finish_writing(j_compress_ptr encoder) { (void)encoder; }

// Doubles the memory, which is full. libjpeg's own destination would lose it after an error.
static boolean grow(j_compress_ptr encoder) {
    codec *codec = encoder->client_data;
    enum { LEAST_CAPACITY = 1 << 15 };
    size_t capacity = MAX(LEAST_CAPACITY, 2 * codec->capacity);
    uint8_t *written = g_try_realloc(codec->written, capacity);
    if (!written) end(codec, CVIPS_STATUS_OUT_OF_MEMORY);
    codec->written = written;
    codec->destination.next_output_byte = written + codec->capacity;
    codec->destination.free_in_buffer = capacity - codec->capacity;
    codec->capacity = capacity;
    return TRUE;
}

static void set_destination(codec *codec) {
    codec->destination = (struct jpeg_destination_mgr){
        .init_destination = start_writing, .empty_output_buffer = grow,
        .term_destination = finish_writing};
    codec->encoder.dest = &codec->destination;
    grow(&codec->encoder);
}

static void start_encoder(
    codec *codec, const cvips_picture *in, int quality, bool is_gray, cvips_density density) {
    struct jpeg_compress_struct *encoder = &codec->encoder;
    encoder->image_width = (JDIMENSION)in->width;
    encoder->image_height = (JDIMENSION)in->height;
    encoder->input_components = 3;
    encoder->in_color_space = JCS_RGB;
    jpeg_set_defaults(encoder);
    if (is_gray) jpeg_set_colorspace(encoder, JCS_GRAYSCALE);
    jpeg_set_quality(encoder, quality, TRUE);
    encoder->density_unit = density.unit;
    encoder->X_density = density.across;
    encoder->Y_density = density.down;
    // High qualities keep every pixel's color, as libvips' encoder does.
    enum { LEAST_FULL_COLOR = 90 };
    if (quality >= LEAST_FULL_COLOR)
        encoder->comp_info[0].h_samp_factor = encoder->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(encoder, TRUE);
}

// Puts pixels with alpha on white.
static void flatten(uint8_t *out, const uint8_t *in, int width) {
    for (int x = 0; x < width; x++, out += 3, in += 4)
        for (int c = 0; c < 3; c++)
            out[c] = (uint8_t)((in[c] * in[3] + 255 * (255 - in[3]) + 127) / 255);
}

static void write_rows(codec *codec, const cvips_picture *in) {
    struct jpeg_compress_struct *encoder = &codec->encoder;
    size_t length = (size_t)in->width * (size_t)in->bands;
    while (encoder->next_scanline < encoder->image_height) {
        JSAMPROW row = in->pixels + length * encoder->next_scanline;
        if (codec->row) {
            flatten(codec->row, row, in->width);
            row = codec->row;
        }
        jpeg_write_scanlines(encoder, &row, 1);
    }
    jpeg_finish_compress(encoder);
}

cvips_status cvips_jpeg_encode(
    const cvips_picture *in, int quality, bool is_gray, cvips_density density,
    const cvips_token *token, cvips_bytes *out) {
    codec *codec = codec_new(token);
    if (!codec) return CVIPS_STATUS_OUT_OF_MEMORY;
    if (in->bands == 4 && !(codec->row = g_try_malloc((size_t)in->width * 3))) {
        g_free(codec);
        return CVIPS_STATUS_OUT_OF_MEMORY;
    }
    if (!setjmp(codec->end)) {
        jpeg_create_compress(&codec->encoder);
        codec->encoder.progress = &codec->progress;
        set_destination(codec);
        start_encoder(codec, in, quality, is_gray, density);
        write_rows(codec, in);
    }
    uint8_t *written = codec->written;
    size_t count = codec->capacity - codec->destination.free_in_buffer;
    cvips_status status = codec->status;
    codec_free(codec);
    if (status == CVIPS_STATUS_OK) *out = (cvips_bytes){written, count};
    else g_free(written);
    return status;
}
#endif
