// Exists for its pkg-config flags: `CVips` compiles against libvips through this module.
// Swift code must not import it (it would pull in all of glib); it imports `CVips`.
#include <vips/vips.h>
