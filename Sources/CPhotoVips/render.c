#ifdef PhotoImaging
#include "internal.h"

#include <string.h>

cvips_render *cvips_render_new(const cvips_picture *in, const cvips_token *token) {
    cvips_render *render = g_try_new(cvips_render, 1);
    // The status may be ignored: the first step checks the token again.
    cvips_token_enter(token);
    if (render) *render = (cvips_render){.in = *in, .token = token};
    return render;
}

cvips_render *cvips_render_new_in_place(const cvips_picture *picture, const cvips_token *token) {
    cvips_render *render = cvips_render_new(picture, token);
    if (render) render->own = *picture;
    return render;
}

void cvips_render_free(cvips_render *render) {
    g_free(render->own.pixels);
    g_free(render);
}

void cvips_render_replace(cvips_render *render, cvips_picture next) {
    g_free(render->own.pixels);
    render->own = next;
}

// Gives the render memory of its own, for the first step or for a result without any step.
static cvips_status allocate(cvips_render *render) {
    cvips_picture own = render->in;
    cvips_status status = cvips_picture_new(&own);
    if (status == CVIPS_STATUS_OK) render->own = own;
    return status;
}

cvips_status cvips_render_rows(
    cvips_render *render, cvips_row_functions functions, const void *tables,
    const cvips_picture *first, const cvips_picture *second) {
    const cvips_picture in = *cvips_render_current(render);
    // The first step allocates a picture, unless the render works in place; later steps work in the
    // same memory.
    if (!render->own.pixels) {
        cvips_status status = allocate(render);
        if (status != CVIPS_STATUS_OK) return status;
    }
    cvips_row_function row = in.depth == 2 ? functions.sixteen : functions.eight;
    size_t length = (size_t)in.width * (size_t)in.bands * (size_t)in.depth;
    for (int y = 0; y < in.height; y++) {
        cvips_status stopped = cvips_token_check(render->token);
        if (stopped != CVIPS_STATUS_OK) return stopped;
        size_t at = length * (size_t)y;
        const uint8_t *rows[3] = {
            in.pixels + at, first ? first->pixels + at : NULL, second ? second->pixels + at : NULL};
        row(tables, render->own.pixels + at, rows, y, in.width, in.bands);
    }
    return CVIPS_STATUS_OK;
}

cvips_status cvips_render_pixels(cvips_render *render, cvips_row_function row, void *tables) {
    cvips_row_functions functions = {.eight = row, .sixteen = row};
    cvips_status status = cvips_render_rows(render, functions, tables, NULL, NULL);
    g_free(tables);
    return status;
}

cvips_status cvips_render_finish(cvips_render *render, cvips_picture *out) {
    cvips_status status = cvips_token_check(render->token);
    if (status != CVIPS_STATUS_OK) return status;
    if (!render->own.pixels) {
        status = allocate(render);
        if (status != CVIPS_STATUS_OK) return status;
        memcpy(render->own.pixels, render->in.pixels, cvips_picture_size(&render->in));
    }
    *out = render->own;
    render->own = (cvips_picture){.pixels = NULL};
    return CVIPS_STATUS_OK;
}
#endif
