#ifdef PhotoImaging
#include "internal.h"

#include <pthread.h>
#include <vips/vector.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Set on each thread that has used libvips. The key's destructor frees the memory that libvips
// keeps for the thread, so that threads need no explicit cleanup.
static pthread_key_t thread_key;
static cvips_status setup_status = CVIPS_STATUS_UNAVAILABLE;

// Written on the thread that runs libvips code; decoding runs on the caller's thread.
static _Thread_local unsigned warnings;

unsigned cvips_take_warnings(void) {
    unsigned count = warnings;
    warnings = 0;
    return count;
}

// Counts warnings instead of printing them: a damaged file is a result, not a line on the terminal.
static void count_log(
    const gchar *domain, GLogLevelFlags level, const gchar *message, gpointer data) {
    (void)domain;
    (void)message;
    (void)data;
    if (level & G_LOG_LEVEL_WARNING) warnings++;
}

static void thread_ended(void *unused) {
    (void)unused;
    vips_thread_shutdown();
}

static void set_up(void) {
    if (VIPS_INIT("swift-operations")) {
        vips_error_clear();
        return;
    }
    // The caller's queues provide the parallelism: one libvips thread for each picture.
    vips_concurrency_set(1);
    // The operation cache never hits here and would keep old pictures in memory.
    vips_cache_set_max(0);
    vips_cache_set_max_mem(0);
    vips_cache_set_max_files(0);
    // Loaders such as SVG, PDF and ImageMagick must never read untrusted bytes.
    vips_block_untrusted_set(TRUE);
    // Before 8.15, libvips compiles its loops with ORC, whose memory for code is not safe from
    // threads that compile and free at the same time: shrinking two pictures could crash.
    if (vips_version(0) * 100 + vips_version(1) < 815) vips_vector_set_enabled(FALSE);
    g_log_set_handler(
        "VIPS", G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION, count_log, NULL);
    if (pthread_key_create(&thread_key, thread_ended)) return;
    setup_status = CVIPS_STATUS_OK;
}

cvips_status cvips_setup(void) {
    pthread_once(&once, set_up);
    // Any value but NULL makes the destructor run.
    if (setup_status == CVIPS_STATUS_OK) pthread_setspecific(thread_key, &once);
    return setup_status;
}
#endif
