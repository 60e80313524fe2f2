// PostgreSQL's client library in C; pkg-config finds its folder.
#include <libpq-fe.h>
