#include "internal.h"

cvips_status cvips_failure(const cvips_token *token, cvips_status otherwise) {
    vips_error_clear();
    cvips_status stopped = cvips_token_check(token);
    return stopped == CVIPS_STATUS_OK ? otherwise : stopped;
}

// Runs on the evaluating thread. Setting the kill flag from another thread is not enough: libvips
// clears the flag whenever an evaluation starts, so a kill that arrives too early is lost.
static void on_evaluate(VipsImage *image, VipsProgress *progress, void *token) {
    (void)progress;
    CVIPS_ACQUIRE(token);
    if (cvips_token_check(token) != CVIPS_STATUS_OK) vips_image_set_kill(image, TRUE);
    CVIPS_RELEASE(token);
}

void cvips_watch(VipsImage *image, const cvips_token *token) {
    if (!token) return;
    CVIPS_RELEASE(token);
    vips_image_set_progress(image, TRUE);
    g_signal_connect(image, "eval", G_CALLBACK(on_evaluate), (void *)token);
}

// --- Evaluation on the calling thread
//
// libvips' own sinks evaluate on a libvips thread while the caller sleeps. A scheduler that counts
// working threads would see a blocked caller, and the caller's waiting time would say nothing about
// the work. So this file loops over tiles itself, from top to bottom as loaders expect, with a
// region that the calling thread owns. The tiles are the same as those of libvips' sinks, because
// the start of a tile decides how resampling rounds.

typedef struct evaluation {
    VipsRegion *region;
    const cvips_token *token;
    int tile_width, tile_height;
} evaluation;

typedef cvips_status (*tile_function)(VipsRegion *region, const VipsRect *tile, void *data);

static cvips_status for_each_tile(const evaluation *evaluation, tile_function write, void *data) {
    const VipsImage *image = evaluation->region->im;
    for (int y = 0; y < image->Ysize; y += evaluation->tile_height)
        for (int x = 0; x < image->Xsize; x += evaluation->tile_width) {
            const VipsRect tile = {
                x, y, MIN(evaluation->tile_width, image->Xsize - x),
                MIN(evaluation->tile_height, image->Ysize - y)};
            cvips_status status = write(evaluation->region, &tile, data);
            if (status == CVIPS_STATUS_OK) status = cvips_token_check(evaluation->token);
            if (status != CVIPS_STATUS_OK) return status;
        }
    return CVIPS_STATUS_OK;
}

// Writes the tile directly into the picture.
static cvips_status write_tile(VipsRegion *region, const VipsRect *tile, void *to) {
    return vips_region_prepare_to(region, to, tile, tile->left, tile->top) ? CVIPS_STATUS_FAILED
                                                                           : CVIPS_STATUS_OK;
}

static cvips_status write_upright(const evaluation *evaluation, const cvips_picture *out) {
    VipsImage *target = cvips_wrap_picture(out);
    if (!target) return CVIPS_STATUS_OUT_OF_MEMORY;
    VipsRegion *to = vips_region_new(target);
    const VipsRect all = {0, 0, out->width, out->height};
    cvips_status status = to && !vips_region_image(to, &all)
        ? for_each_tile(evaluation, write_tile, to)
        : CVIPS_STATUS_OUT_OF_MEMORY;
    VIPS_UNREF(to);
    g_object_unref(target);
    return status;
}

// The layout of a stored picture's pixels in the upright picture: byte distances between
// neighbours.
typedef struct turn {
    uint8_t *origin;
    ptrdiff_t across;
    ptrdiff_t down;
    int bands;
} turn;

// Orientations 5 to 8 swap the axes. Orientations 2, 3, 7 and 8 run backwards along a stored row;
// 3, 4, 6 and 7 run from the last stored row to the first (EXIF 2.3, 4.6.4, tag 274).
static turn make_turn(int orientation, const cvips_picture *out) {
    ptrdiff_t pixel = out->bands, row = (ptrdiff_t)out->width * out->bands;
    bool swaps = orientation >= 5;
    int width = swaps ? out->height : out->width, height = swaps ? out->width : out->height;
    turn turn = {out->pixels, swaps ? row : pixel, swaps ? pixel : row, out->bands};
    if (orientation == 2 || orientation == 3 || orientation >= 7) {
        turn.origin += turn.across * (width - 1);
        turn.across = -turn.across;
    }
    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) {
        turn.origin += turn.down * (height - 1);
        turn.down = -turn.down;
    }
    return turn;
}

// Goes down the tile first: with swapped axes, pixels of a column are neighbours in the upright
// picture.
static cvips_status turn_tile(VipsRegion *region, const VipsRect *tile, void *data) {
    const turn *turn = data;
    if (vips_region_prepare(region, tile)) return CVIPS_STATUS_FAILED;
    for (int x = tile->left; x < VIPS_RECT_RIGHT(tile); x++) {
        uint8_t *q = turn->origin + x * turn->across + tile->top * turn->down;
        for (int y = tile->top; y < VIPS_RECT_BOTTOM(tile); y++, q += turn->down) {
            const uint8_t *p = VIPS_REGION_ADDR(region, x, y);
            for (int c = 0; c < turn->bands; c++) q[c] = p[c];
        }
    }
    return CVIPS_STATUS_OK;
}

cvips_status cvips_write_picture(
    VipsImage *image, int orientation, const cvips_token *token, cvips_picture *out) {
    cvips_status status = cvips_token_check(token);
    if (status != CVIPS_STATUS_OK) return status;
    bool swaps = orientation >= 5;
    cvips_picture picture = {NULL, 0, 0, 0};
    status = cvips_picture_new(
        swaps ? image->Ysize : image->Xsize, swaps ? image->Xsize : image->Ysize, image->Bands,
        &picture);
    if (status != CVIPS_STATUS_OK) return status;
    evaluation evaluation = {.region = vips_region_new(image), .token = token};
    int lines = 0;
    vips_get_tile_size(image, &evaluation.tile_width, &evaluation.tile_height, &lines);
    turn turn = make_turn(orientation, &picture);
    status = !evaluation.region ? CVIPS_STATUS_OUT_OF_MEMORY
        : orientation >= 2 ? for_each_tile(&evaluation, turn_tile, &turn)
                           : write_upright(&evaluation, &picture);
    VIPS_UNREF(evaluation.region);
    if (status == CVIPS_STATUS_OK) {
        *out = picture;
        return status;
    }
    g_free(picture.pixels);
    return cvips_failure(token, status);
}

VipsImage *cvips_wrap_picture(const cvips_picture *picture) {
    size_t count = (size_t)picture->width * (size_t)picture->height * (size_t)picture->bands;
    VipsImage *memory = vips_image_new_from_memory(
        picture->pixels, count, picture->width, picture->height, picture->bands,
        VIPS_FORMAT_UCHAR);
    if (!memory) return NULL;
    memory->Type = VIPS_INTERPRETATION_sRGB;
    return memory;
}

cvips_status cvips_picture_new(int32_t width, int32_t height, int32_t bands, cvips_picture *out) {
    uint8_t *pixels = g_try_malloc((size_t)width * (size_t)height * (size_t)bands);
    if (!pixels) return CVIPS_STATUS_OUT_OF_MEMORY;
    *out = (cvips_picture){pixels, width, height, bands};
    return CVIPS_STATUS_OK;
}

void cvips_free(uint8_t *memory) { g_free(memory); }
