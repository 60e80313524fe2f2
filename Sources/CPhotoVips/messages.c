#ifdef PhotoImaging
// The decoders behind libheif write lines about damaged pictures to `stderr`, without the name of
// a file: "SPS error: CB alignment". They have no function to turn that off. The caller learns of
// the damage from the decoder's result, and reports it with the file's name.
//
// Exchanging the file descriptor 2 would also take the messages of all other threads. So the
// variable `stderr`, which the GNU C library allows to set, gets another stream. The stream drops
// what the code of these decoders writes, on whatever thread, and passes everything else on.
// Programs that write to the file descriptor 2 do not use the stream.
//
// The variable belongs to the program, so nothing here happens unless the program asks for it.

// Makes fopencookie() and dladdr() visible.
#define _GNU_SOURCE

#include "internal.h"

#ifdef __GLIBC__

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const decoders[] = {
    "libheif", "libde265", "libdav1d", "libaom", "libx265", "libSvtAv1", "librav1e", "libkvazaar",
};

static const char *file_name(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return "";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static bool is_in_c_library(const void *address) {
    return g_str_has_prefix(file_name(address), "libc.so");
}

// Whether the code that writes now belongs to a decoder. On the stack, the functions of the C
// library lie between this file and that code.
static bool is_decoder_writing(void) {
    enum { DEPTH = 32 };
    void *frames[DEPTH];
    int count = backtrace(frames, DEPTH), i = 0;
    while (i < count && !is_in_c_library(frames[i])) i++;
    while (i < count && is_in_c_library(frames[i])) i++;
    if (i == count) return false;
    const char *name = file_name(frames[i]);
    for (size_t j = 0; j < G_N_ELEMENTS(decoders); j++)
        if (g_str_has_prefix(name, decoders[j])) return true;
    return false;
}

static ssize_t pass_on(void *unused, const char *text, size_t size) {
    (void)unused;
    if (is_decoder_writing()) return (ssize_t)size;
    for (size_t done = 0; done < size;) {
        ssize_t written = write(STDERR_FILENO, text + done, size - done);
        if (written < 0 && errno != EINTR) return 0;
        if (written > 0) done += (size_t)written;
    }
    return (ssize_t)size;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void silence(void) {
    // The first call loads a library, which a program that is about to crash should not do.
    void *frame;
    backtrace(&frame, 1);
    FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = pass_on});
    if (!stream) return;
    // As the stream before: a line is written by the call that makes it.
    setvbuf(stream, NULL, _IONBF, 0);
    stderr = stream;
}

void cvips_silence_decoders(void) { pthread_once(&once, silence); }

#else

void cvips_silence_decoders(void) {}

#endif
#endif
