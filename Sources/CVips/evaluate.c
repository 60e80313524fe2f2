#include "internal.h"

#include <string.h>

cvips_status cvips_failure(const cvips_token *token, cvips_status otherwise) {
    vips_error_clear();
    cvips_status stopped = cvips_token_check(token);
    return stopped == CVIPS_STATUS_OK ? otherwise : stopped;
}

// Runs on the thread that evaluates. The kill flag alone would not do: libvips clears it whenever
// an evaluation starts, so a kill from another thread that comes too early is lost.
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

cvips_status cvips_write_picture(VipsImage *image, const cvips_token *token, cvips_picture *out) {
    cvips_status stopped = cvips_token_check(token);
    if (stopped != CVIPS_STATUS_OK) return stopped;
    cvips_watch(image, token);
    size_t count = 0;
    uint8_t *pixels = vips_image_write_to_memory(image, &count);
    if (!pixels) return cvips_failure(token, CVIPS_STATUS_FAILED);
    // Asked to stop in the last moment: the caller wants no picture, so it gets none.
    stopped = cvips_token_check(token);
    if (stopped != CVIPS_STATUS_OK) {
        g_free(pixels);
        return stopped;
    }
    *out = (cvips_picture){pixels, image->Xsize, image->Ysize, image->Bands};
    return CVIPS_STATUS_OK;
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
