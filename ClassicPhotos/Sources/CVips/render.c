#include "internal.h"

#include <string.h>

static size_t byte_count(const cvips_picture *picture) {
    return (size_t)picture->width * (size_t)picture->height * (size_t)picture->bands;
}

cvips_render *cvips_render_new(const cvips_picture *in, const cvips_token *token) {
    cvips_render *render = g_try_new(cvips_render, 1);
    // The status may be ignored: the first step checks the token again.
    cvips_token_enter(token);
    if (render) *render = (cvips_render){*in, {NULL, 0, 0, 0}, token};
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

cvips_status cvips_render_rows(
    cvips_render *render, cvips_row_function row, const void *tables, const cvips_picture *first,
    const cvips_picture *second) {
    const cvips_picture in = *cvips_render_current(render);
    // The first step allocates a picture; later steps work in place.
    if (!render->own.pixels) {
        cvips_status status = cvips_picture_new(in.width, in.height, in.bands, &render->own);
        if (status != CVIPS_STATUS_OK) return status;
    }
    size_t length = (size_t)in.width * (size_t)in.bands;
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

cvips_status cvips_render_finish(cvips_render *render, cvips_picture *out) {
    cvips_status status = cvips_token_check(render->token);
    if (status != CVIPS_STATUS_OK) return status;
    if (!render->own.pixels) {
        const cvips_picture *in = &render->in;
        status = cvips_picture_new(in->width, in->height, in->bands, &render->own);
        if (status != CVIPS_STATUS_OK) return status;
        memcpy(render->own.pixels, in->pixels, byte_count(in));
    }
    *out = render->own;
    render->own = (cvips_picture){NULL, 0, 0, 0};
    return CVIPS_STATUS_OK;
}
