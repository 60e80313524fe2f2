#include "internal.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cvips_status setup_status = CVIPS_STATUS_UNAVAILABLE;

static void ignore_log(
    const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain;
    (void)level;
    (void)message;
    (void)data;
}

static void set_up(void) {
    if (VIPS_INIT("swift-operations")) {
        vips_error_clear();
        return;
    }
    // Parallelism belongs to the caller's queues: one libvips thread for each picture.
    vips_concurrency_set(1);
    // The operation cache would keep other people's pictures alive and never hits here.
    vips_cache_set_max(0);
    vips_cache_set_max_mem(0);
    vips_cache_set_max_files(0);
    // SVG, PDF, ImageMagick and the like are never to see bytes from outside.
    vips_block_untrusted_set(TRUE);
    // A damaged file is an answer, not a line on somebody's terminal.
    g_log_set_handler(
        "VIPS", G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION, ignore_log, NULL);
    setup_status = CVIPS_STATUS_OK;
}

cvips_status cvips_setup(void) {
    pthread_once(&once, set_up);
    return setup_status;
}

void cvips_thread_will_exit(void) {
    if (cvips_setup() == CVIPS_STATUS_OK) vips_thread_shutdown();
}
