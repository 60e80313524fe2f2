// Exists for its pkg-config flags: `CCurl` compiles against libcurl through this module.
#include <curl/curl.h>
