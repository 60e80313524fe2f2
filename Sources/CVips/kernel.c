#include "internal.h"

#include <string.h>

static void kernel_free(cvips_kernel *kernel) {
    for (int i = 0; kernel->inputs[i]; i++) g_object_unref(kernel->inputs[i]);
    g_free(kernel->tables);
    g_free(kernel);
}

// libvips asks for one region at a time. The token is polled here as well as between regions,
// because a region of a wide picture can be large.
static int generate(VipsRegion *out, void *sequence, void *unused, void *data, gboolean *stop) {
    (void)unused;
    (void)stop;
    const cvips_kernel *kernel = data;
    VipsRegion **in = sequence;
    const VipsRect *area = &out->valid;
    if (cvips_token_check(kernel->token) != CVIPS_STATUS_OK) {
        vips_error("cvips", "stopped");
        return -1;
    }
    if (vips_reorder_prepare_many(out->im, in, (VipsRect *)area)) return -1;
    for (int y = area->top; y < area->top + area->height; y++) {
        const uint8_t *rows[CVIPS_MAXIMUM_INPUTS] = {NULL};
        for (int i = 0; in[i]; i++) rows[i] = VIPS_REGION_ADDR(in[i], area->left, y);
        kernel->row(
            kernel, VIPS_REGION_ADDR(out, area->left, y), rows, area->left, y, area->width,
            out->im->Bands);
    }
    return 0;
}

VipsImage *cvips_kernel_image(
    VipsImage *const *inputs, int input_count, cvips_row_function row, void *tables,
    const cvips_token *token) {
    cvips_kernel *kernel = g_try_new0(cvips_kernel, 1);
    if (!kernel) {
        g_free(tables);
        return NULL;
    }
    kernel->row = row;
    kernel->token = token;
    kernel->tables = tables;
    for (int i = 0; i < input_count; i++) kernel->inputs[i] = g_object_ref(inputs[i]);
    VipsImage *out = vips_image_new();
    // The kernel lives as long as the image that computes with it.
    g_object_set_data_full(G_OBJECT(out), "cvips-kernel", kernel, (GDestroyNotify)kernel_free);
    if (vips_image_pipeline_array(out, VIPS_DEMAND_STYLE_ANY, kernel->inputs) ||
        vips_image_generate(
            out, vips_start_many, generate, vips_stop_many, kernel->inputs, kernel)) {
        g_object_unref(out);
        return NULL;
    }
    return out;
}
