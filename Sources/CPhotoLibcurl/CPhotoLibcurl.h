// Exists for its pkg-config flags: `CPhotoCurl` compiles against libcurl through this module.
#include <curl/curl.h>
