#ifdef PhotoImaging
// Shrinks a picture in two steps while libvips decodes it: to means of squares, then with the
// kernel of resample.c. libvips' own steps give nearly the same pixels, but take longer, because
// each of them copies the tiles of the picture.

#include "internal.h"

#include <string.h>

enum { BANDS = 3 };

// The shrinking of one picture.
typedef struct strips {
    VipsImage *image;
    VipsRegion *region;
    const cvips_token *token;
    cvips_picture out;
    // The side of the squares, and the sums of the columns of the rows so far.
    int square;
    uint16_t *sums;
    int rows;
    cvips_shrink *shrink;
} strips;

CVIPS_FOR_EACH_PROCESSOR
static void add_row(uint16_t *restrict sums, const uint8_t *restrict row, size_t count) {
    for (size_t i = 0; i < count; i++) sums[i] = (uint16_t)(sums[i] + row[i]);
}

// Gives the means of the squares to the second step. The last squares may be incomplete.
static void give_means(strips *strips) {
    uint8_t *out = cvips_shrink_next_row(strips->shrink);
    const uint16_t *sums = strips->sums;
    int width = strips->image->Xsize;
    for (int x = 0; x < width; x += strips->square, out += CVIPS_SHRINK_BANDS) {
        int columns = MIN(strips->square, width - x);
        uint32_t sum[BANDS] = {0};
        for (int i = 0; i < columns; i++, sums += BANDS)
            for (int c = 0; c < BANDS; c++) sum[c] += sums[c];
        uint32_t count = (uint32_t)(columns * strips->rows);
        for (int c = 0; c < BANDS; c++) out[c] = (uint8_t)((sum[c] + count / 2) / count);
    }
    memset(strips->sums, 0, (size_t)width * BANDS * sizeof *strips->sums);
    strips->rows = 0;
    cvips_shrink_give_row(strips->shrink);
}

// Loaders decode from top to bottom, some rows at a time.
static cvips_status read_strips(strips *strips) {
    enum { STRIP = 16 };
    const VipsImage *image = strips->image;
    for (int top = 0; top < image->Ysize; top += STRIP) {
        const VipsRect strip = {0, top, image->Xsize, MIN(STRIP, image->Ysize - top)};
        if (vips_region_prepare(strips->region, &strip)) return CVIPS_STATUS_FAILED;
        for (int y = top; y < VIPS_RECT_BOTTOM(&strip); y++) {
            const uint8_t *row = VIPS_REGION_ADDR(strips->region, 0, y);
            add_row(strips->sums, row, (size_t)image->Xsize * BANDS);
            if (++strips->rows == strips->square || y == image->Ysize - 1) give_means(strips);
        }
        cvips_status stopped = cvips_token_check(strips->token);
        if (stopped != CVIPS_STATUS_OK) return stopped;
    }
    return CVIPS_STATUS_OK;
}

cvips_status cvips_shrink_image(
    VipsImage *image, int width, int height, const cvips_token *token, cvips_picture *out) {
    // The second step shrinks by 2 or more, so that the kernel decides how the result looks. The
    // sum of a column fits into 16 bits.
    enum { LEAST_SHRINK = 2, LARGEST_SQUARE = 257 };
    int square = MAX(1, MIN(image->Xsize / width, image->Ysize / height) / LEAST_SHRINK);
    if (image->Bands != BANDS || image->BandFmt != VIPS_FORMAT_UCHAR || square > LARGEST_SQUARE)
        return CVIPS_STATUS_UNAVAILABLE;
    strips strips = {
        .image = image, .token = token, .square = square,
        .out = {.width = width, .height = height, .bands = BANDS, .depth = 1, .frames = 1}};
    cvips_status status = cvips_picture_new(&strips.out);
    if (status != CVIPS_STATUS_OK) return status;
    strips.region = vips_region_new(image);
    strips.sums = g_try_new0(uint16_t, (size_t)image->Xsize * BANDS);
    strips.shrink = cvips_shrink_new(image->Xsize, image->Ysize, square, &strips.out);
    status = strips.region && strips.sums && strips.shrink ? read_strips(&strips)
                                                           : CVIPS_STATUS_OUT_OF_MEMORY;
    VIPS_UNREF(strips.region);
    g_free(strips.sums);
    cvips_shrink_free(strips.shrink);
    if (status == CVIPS_STATUS_OK) *out = strips.out;
    else g_free(strips.out.pixels);
    return status;
}
#endif
