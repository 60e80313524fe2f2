// What the libraries use of Android's C library, as one module. See check-platforms. The headers are
// those of musl. The difference that matters is that Android's type of threads is a number.

#define __DEFINED_pthread_t
typedef long pthread_t;

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
