#ifdef PhotoImaging
#include "internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct cvips_token {
    atomic_bool cancelled;
    // On the monotonic clock, in nanoseconds; INT64_MAX for no deadline.
    int64_t deadline;
    // In nanoseconds; INT64_MAX for no limit.
    int64_t processor_limit;
    // The processor time that threads have reported for the token, in nanoseconds.
    atomic_int_least64_t processor_time;
    // Unique for each token and never 0; an address may be reused.
    uint64_t number;
};

// The last report of this thread. A thread works for one token at a time.
static _Thread_local struct {
    // The number of the token, or 0.
    uint64_t number;
    int64_t wall_time;
    int64_t processor_time;
} meter;

// The minimum interval between reports, in nanoseconds: reading a thread's processor time is a
// system call. No time is lost, because the next report includes it.
enum { REPORT_INTERVAL = 2000000 };

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

cvips_token *cvips_token_new(int64_t deadline, int64_t processor_time) {
    static atomic_uint_least64_t last_number;
    cvips_token *token = malloc(sizeof *token);
    if (!token) return NULL;
    atomic_init(&token->cancelled, false);
    atomic_init(&token->processor_time, 0);
    token->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    token->processor_limit = processor_time < 0 ? INT64_MAX : processor_time;
    token->deadline = INT64_MAX;
    if (deadline >= 0) {
        int64_t start = now(CLOCK_MONOTONIC);
        if (deadline < INT64_MAX - start) token->deadline = start + deadline;
    }
    return token;
}

void cvips_token_free(cvips_token *token) {
    CVIPS_ACQUIRE(token);
    free(token);
}

void cvips_token_cancel(cvips_token *token) {
    atomic_store_explicit(&token->cancelled, true, memory_order_release);
}

bool cvips_token_is_cancelled(const cvips_token *token) {
    return atomic_load_explicit(&token->cancelled, memory_order_acquire);
}

static void start_meter(const cvips_token *token, int64_t wall_time) {
    meter.number = token->number;
    meter.wall_time = wall_time;
    meter.processor_time = now(CLOCK_THREAD_CPUTIME_ID);
}

// Reports the time that this thread has spent since its last report; returns the total of all
// threads.
static int64_t measure(const cvips_token *token) {
    int64_t wall_time = now(CLOCK_MONOTONIC);
    // Tokens are never in constant memory; only the pointers that callers hold are const.
    atomic_int_least64_t *sum = &((cvips_token *)token)->processor_time;
    if (meter.number != token->number) {
        start_meter(token, wall_time);
    } else if (wall_time - meter.wall_time >= REPORT_INTERVAL) {
        int64_t before = meter.processor_time;
        start_meter(token, wall_time);
        atomic_fetch_add_explicit(sum, meter.processor_time - before, memory_order_relaxed);
    }
    return atomic_load_explicit(sum, memory_order_relaxed);
}

cvips_status cvips_token_check(const cvips_token *token) {
    if (!token) return CVIPS_STATUS_OK;
    if (cvips_token_is_cancelled(token)) return CVIPS_STATUS_CANCELLED;
    if (token->deadline != INT64_MAX && now(CLOCK_MONOTONIC) >= token->deadline)
        return CVIPS_STATUS_TIMED_OUT;
    if (token->processor_limit != INT64_MAX && measure(token) >= token->processor_limit)
        return CVIPS_STATUS_TIMED_OUT;
    return CVIPS_STATUS_OK;
}

cvips_status cvips_token_enter(const cvips_token *token) {
    meter.number = 0;
    return cvips_token_check(token);
}
#endif
