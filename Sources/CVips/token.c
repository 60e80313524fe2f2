#include "internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct cvips_token {
    atomic_bool cancelled;
    // On the monotonic clock, in nanoseconds; INT64_MAX for none.
    int64_t deadline;
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

cvips_token *cvips_token_new(int64_t nanoseconds) {
    cvips_token *token = malloc(sizeof *token);
    if (!token) return NULL;
    atomic_init(&token->cancelled, false);
    token->deadline = INT64_MAX;
    if (nanoseconds >= 0) {
        int64_t start = now();
        if (nanoseconds < INT64_MAX - start) token->deadline = start + nanoseconds;
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

cvips_status cvips_token_check(const cvips_token *token) {
    if (!token) return CVIPS_STATUS_OK;
    if (cvips_token_is_cancelled(token)) return CVIPS_STATUS_CANCELLED;
    if (token->deadline != INT64_MAX && now() >= token->deadline) return CVIPS_STATUS_TIMED_OUT;
    return CVIPS_STATUS_OK;
}
