// The rows of spatial.c for one type of sample. spatial.c includes this file once for each type,
// with the type as SAMPLE and a suffix for the names in NAME.

static void NAME(premultiply_row)(
    const void *data, uint8_t *out_bytes, const uint8_t *const *in, int y, int width, int bands) {
    (void)data;
    (void)y;
    const int64_t maximum = (SAMPLE)-1;
    const SAMPLE *p = (const SAMPLE *)in[0];
    SAMPLE *out = (SAMPLE *)out_bytes;
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        for (int c = 0; c < 3; c++)
            out[c] = (SAMPLE)((p[c] * (int64_t)p[3] + maximum / 2) / maximum);
        out[3] = p[3];
    }
}

static void NAME(unpremultiply_row)(
    const void *data, uint8_t *out_bytes, const uint8_t *const *in, int y, int width, int bands) {
    (void)data;
    (void)y;
    const int64_t maximum = (SAMPLE)-1;
    const SAMPLE *p = (const SAMPLE *)in[0];
    SAMPLE *out = (SAMPLE *)out_bytes;
    for (int x = 0; x < width; x++, p += bands, out += bands) {
        int64_t alpha = p[3];
        for (int c = 0; c < 3; c++)
            out[c] = alpha ? (SAMPLE)MIN(maximum, (p[c] * maximum + alpha / 2) / alpha) : 0;
        out[3] = p[3];
    }
}

static void NAME(tilt_row)(
    const void *data, uint8_t *out_bytes, const uint8_t *const *in, int y, int width, int bands) {
    const tilt_tables *tables = data;
    int weight = tables->weights[y];
    const SAMPLE *a = (const SAMPLE *)(weight < TILT_ONE ? in[0] : in[1]);
    const SAMPLE *b = (const SAMPLE *)(weight < TILT_ONE ? in[1] : in[2]);
    SAMPLE *out = (SAMPLE *)out_bytes;
    int share = weight < TILT_ONE ? weight : weight - TILT_ONE;
    for (int i = 0; i < width * bands; i++)
        out[i] = (SAMPLE)((a[i] * (TILT_ONE - share) + b[i] * share + TILT_ONE / 2) / TILT_ONE);
}

static int NAME(luma)(const SAMPLE *p) { return (54 * p[0] + 183 * p[1] + 19 * p[2] + 128) >> 8; }

// Adds the same difference to all three channels, so that edges get no colored fringes.
static void NAME(sharpen_row)(
    const void *data, uint8_t *out_bytes, const uint8_t *const *in, int y, int width, int bands) {
    (void)y;
    int32_t amount = ((const sharpen_tables *)data)->amount;
    const SAMPLE *p = (const SAMPLE *)in[0], *soft = (const SAMPLE *)in[1];
    SAMPLE *out = (SAMPLE *)out_bytes;
    for (int x = 0; x < width; x++, p += bands, soft += bands, out += bands) {
        int difference = (NAME(luma)(p) - NAME(luma)(soft)) * amount / 256;
        int maximum = bands == 4 ? p[3] : (SAMPLE)-1;
        for (int c = 0; c < 3; c++) out[c] = (SAMPLE)CLAMP(p[c] + difference, 0, maximum);
        if (bands == 4) out[3] = p[3];
    }
}
