// Exists for its pkg-config flags: `CPhotoVips` compiles against libvips through this module.
// Swift code must not import it (it would pull in all of glib); it imports `CPhotoVips`.
#include <vips/vips.h>
