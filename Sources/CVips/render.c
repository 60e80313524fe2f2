// A render is an image that grows one step at a time; nothing is computed before a step needs
// neighbouring pixels or the end is reached.

#include "internal.h"

cvips_render *cvips_render_new(const cvips_picture *in, const cvips_token *token) {
    if (cvips_setup() != CVIPS_STATUS_OK) return NULL;
    cvips_render *render = g_try_new(cvips_render, 1);
    if (!render) return NULL;
    *render = (cvips_render){cvips_wrap_picture(in), token};
    if (render->image) return render;
    g_free(render);
    return NULL;
}

void cvips_render_free(cvips_render *render) {
    g_object_unref(render->image);
    g_free(render);
}

cvips_status cvips_render_replace(cvips_render *render, VipsImage *next) {
    if (!next) return cvips_failure(render->token, CVIPS_STATUS_FAILED);
    g_object_unref(render->image);
    render->image = next;
    return CVIPS_STATUS_OK;
}

cvips_status cvips_render_finish(cvips_render *render, cvips_picture *out) {
    return cvips_write_picture(render->image, render->token, out);
}
