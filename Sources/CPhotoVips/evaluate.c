#ifdef PhotoImaging
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>

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
    const VipsRect all = {0, 0, target->Xsize, target->Ysize};
    cvips_status status = to && !vips_region_image(to, &all)
        ? for_each_tile(evaluation, write_tile, to)
        : CVIPS_STATUS_OUT_OF_MEMORY;
    VIPS_UNREF(to);
    g_object_unref(target);
    return status;
}

// The layout of a stored picture's pixels in the upright picture: byte distances between
// neighbors.
typedef struct turn {
    uint8_t *origin;
    ptrdiff_t across;
    ptrdiff_t down;
    int pixel_size;
} turn;

// Orientations 5 to 8 swap the axes. Orientations 2, 3, 7 and 8 run backwards along a stored row;
// 3, 4, 6 and 7 run from the last stored row to the first (EXIF 2.3, 4.6.4, tag 274).
static turn make_turn(int orientation, const cvips_picture *out) {
    ptrdiff_t pixel = (ptrdiff_t)out->bands * out->depth, row = out->width * pixel;
    bool swaps = orientation >= 5;
    int width = swaps ? out->height : out->width, height = swaps ? out->width : out->height;
    turn turn = {out->pixels, swaps ? row : pixel, swaps ? pixel : row, (int)pixel};
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

// Goes down the tile first: with swapped axes, pixels of a column are neighbors in the upright
// picture.
static cvips_status turn_tile(VipsRegion *region, const VipsRect *tile, void *data) {
    const turn *turn = data;
    if (vips_region_prepare(region, tile)) return CVIPS_STATUS_FAILED;
    for (int x = tile->left; x < VIPS_RECT_RIGHT(tile); x++) {
        uint8_t *q = turn->origin + x * turn->across + tile->top * turn->down;
        for (int y = tile->top; y < VIPS_RECT_BOTTOM(tile); y++, q += turn->down) {
            const uint8_t *p = VIPS_REGION_ADDR(region, x, y);
            for (int i = 0; i < turn->pixel_size; i++) q[i] = p[i];
        }
    }
    return CVIPS_STATUS_OK;
}

static cvips_status write_frames(
    VipsImage *image, int orientation, const cvips_token *token, const cvips_picture *out) {
    evaluation evaluation = {.region = vips_region_new(image), .token = token};
    if (!evaluation.region) return CVIPS_STATUS_OUT_OF_MEMORY;
    int lines = 0;
    vips_get_tile_size(image, &evaluation.tile_width, &evaluation.tile_height, &lines);
    turn turn = make_turn(orientation, out);
    cvips_status status = orientation >= 2 ? for_each_tile(&evaluation, turn_tile, &turn)
                                           : write_upright(&evaluation, out);
    g_object_unref(evaluation.region);
    return status;
}

cvips_status cvips_turn_picture(cvips_picture *picture, int orientation) {
    if (orientation < 2) return CVIPS_STATUS_OK;
    cvips_picture out = *picture;
    if (orientation >= 5) {
        out.width = picture->height;
        out.height = picture->width;
    }
    cvips_status status = cvips_picture_new(&out);
    if (status != CVIPS_STATUS_OK) return status;
    turn turn = make_turn(orientation, &out);
    const uint8_t *p = picture->pixels;
    for (int y = 0; y < picture->height; y++) {
        uint8_t *q = turn.origin + y * turn.down;
        for (int x = 0; x < picture->width; x++, q += turn.across, p += turn.pixel_size)
            for (int i = 0; i < turn.pixel_size; i++) q[i] = p[i];
    }
    g_free(picture->pixels);
    *picture = out;
    return status;
}

// Turns each frame; frames that need no turn are written together.
static cvips_status write_turned_frames(
    VipsImage *image, int orientation, const cvips_token *token, const cvips_picture *out) {
    cvips_status status = CVIPS_STATUS_OK;
    int height = image->Ysize / out->frames;
    for (int i = 0; i < out->frames && status == CVIPS_STATUS_OK; i++) {
        VipsImage *page = NULL;
        if (vips_crop(image, &page, 0, i * height, image->Xsize, height, NULL))
            return CVIPS_STATUS_FAILED;
        cvips_picture frame = cvips_picture_frame(out, i);
        status = write_frames(page, orientation, token, &frame);
        g_object_unref(page);
    }
    return status;
}

cvips_status cvips_write_picture(
    VipsImage *image, int orientation, int frames, const cvips_token *token, cvips_picture *out) {
    cvips_status status = cvips_token_check(token);
    if (status != CVIPS_STATUS_OK) return status;
    if (image->Ysize % frames) return CVIPS_STATUS_FAILED;
    bool swaps = orientation >= 5;
    int height = image->Ysize / frames;
    cvips_picture picture = {
        .width = swaps ? height : image->Xsize, .height = swaps ? image->Xsize : height,
        .bands = image->Bands, .depth = (int)VIPS_IMAGE_SIZEOF_ELEMENT(image), .frames = frames};
    status = cvips_picture_new(&picture);
    if (status != CVIPS_STATUS_OK) return status;
    status = orientation >= 2 && frames > 1
        ? write_turned_frames(image, orientation, token, &picture)
        : write_frames(image, orientation, token, &picture);
    if (status == CVIPS_STATUS_OK) {
        *out = picture;
        return status;
    }
    g_free(picture.pixels);
    return cvips_failure(token, status);
}

VipsImage *cvips_wrap_picture(const cvips_picture *picture) {
    VipsImage *memory = vips_image_new_from_memory(
        picture->pixels, cvips_picture_size(picture), picture->width,
        picture->height * picture->frames, picture->bands,
        picture->depth == 2 ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR);
    if (!memory) return NULL;
    memory->Type = picture->depth == 2 ? VIPS_INTERPRETATION_RGB16 : VIPS_INTERPRETATION_sRGB;
    return memory;
}

size_t cvips_picture_size(const cvips_picture *picture) {
    return (size_t)picture->width * (size_t)picture->height * (size_t)picture->bands *
        (size_t)picture->depth * (size_t)picture->frames;
}

cvips_picture cvips_picture_frame(const cvips_picture *picture, int32_t frame) {
    cvips_picture view = *picture;
    view.frames = 1;
    view.pixels += (size_t)frame * cvips_picture_size(&view);
    return view;
}

// The system hands out memory in pages of 4 kB, of which the first use of each costs as much as
// decoding a few hundred pixels. Large pictures ask for pages of 2 MB.
static uint8_t *allocate_large(size_t size) {
#ifdef MADV_HUGEPAGE
    enum { PAGE = 2 << 20 };
    void *memory = NULL;
    if (size < 2 * (size_t)PAGE || posix_memalign(&memory, PAGE, size)) return NULL;
    // Without such pages, the memory is used as it is.
    madvise(memory, size, MADV_HUGEPAGE);
    return memory;
#else
    (void)size;
    return NULL;
#endif
}

cvips_status cvips_picture_new(cvips_picture *out) {
    size_t size = cvips_picture_size(out);
    out->pixels = allocate_large(size);
    if (!out->pixels) out->pixels = g_try_malloc(size);
    return out->pixels ? CVIPS_STATUS_OK : CVIPS_STATUS_OUT_OF_MEMORY;
}

void cvips_free(uint8_t *memory) { g_free(memory); }
#endif
