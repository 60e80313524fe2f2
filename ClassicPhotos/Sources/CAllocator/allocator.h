#ifdef __linux__
#include <malloc.h>
#endif

/// Returns what the program has freed to the system, where the C library can do that: with glibc,
/// which keeps freed memory between blocks that are in use. Takes some milliseconds.
static inline void return_freed_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
