// The inner loops of blur.c for one type of sample. blur.c includes this file once for each type,
// with the type as SAMPLE and a suffix for the names in NAME.

static const SAMPLE *NAME(samples_at)(const cvips_picture *picture, int y) {
    return (const SAMPLE *)row_at(picture, y);
}

static void NAME(shrink_row)(
    const cvips_picture *in, int y, int factor, uint64_t *sums, const cvips_picture *out) {
    memset(sums, 0, sizeof *sums * (size_t)row_length(out));
    int rows = MIN(factor, in->height - y * factor);
    for (int i = 0; i < rows; i++) {
        const SAMPLE *p = NAME(samples_at)(in, y * factor + i);
        for (int x = 0; x < in->width; x++, p += in->bands)
            for (int c = 0; c < in->bands; c++) sums[x / factor * in->bands + c] += p[c];
    }
    SAMPLE *q = (SAMPLE *)row_at(out, y);
    for (int x = 0; x < out->width; x++) {
        uint64_t count = (uint64_t)(MIN(factor, in->width - x * factor) * rows);
        for (int c = 0; c < in->bands; c++, q++)
            *q = (SAMPLE)((sums[x * in->bands + c] + count / 2) / count);
    }
}

static void NAME(store)(const float *sums, int count, uint8_t *out) {
    SAMPLE *q = (SAMPLE *)out;
    // Rounding of the weights can make a sum of the largest samples a little too large.
    const float maximum = (SAMPLE)-1;
    for (int i = 0; i < count; i++) q[i] = (SAMPLE)MIN(sums[i] + 0.5f, maximum);
}

// Loops tap by tap over whole rows, not pixel by pixel, so that the compiler emits vector code.
static void NAME(blur_row)(
    const cvips_picture *in, int y, const float *weights, int radius, float *padded, float *sums,
    uint8_t *out) {
    int bands = in->bands, count = row_length(in);
    const SAMPLE *p = NAME(samples_at)(in, y);
    for (int x = -radius; x < in->width + radius; x++)
        for (int c = 0; c < bands; c++)
            padded[(x + radius) * bands + c] = p[CLAMP(x, 0, in->width - 1) * bands + c];
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int tap = 0; tap <= 2 * radius; tap++) {
        const float *from = padded + tap * bands;
        for (int i = 0; i < count; i++) sums[i] += weights[tap] * from[i];
    }
    NAME(store)(sums, count, out);
}

static void NAME(blur_columns)(
    const cvips_picture *in, int y, const float *weights, int radius, float *sums, uint8_t *out) {
    int count = row_length(in);
    memset(sums, 0, sizeof *sums * (size_t)count);
    for (int tap = 0; tap <= 2 * radius; tap++) {
        const SAMPLE *from = NAME(samples_at)(in, y + tap - radius);
        for (int i = 0; i < count; i++) sums[i] += weights[tap] * from[i];
    }
    NAME(store)(sums, count, out);
}

static void NAME(enlarge_row)(
    const cvips_picture *in, int y, int factor, float *row, const cvips_picture *out) {
    int bands = in->bands;
    double place = MAX(0, (y + 0.5) / factor - 0.5);
    int top = (int)place;
    float share = (float)(place - top);
    const SAMPLE *a = NAME(samples_at)(in, top), *b = NAME(samples_at)(in, top + 1);
    for (int i = 0; i < row_length(in); i++) row[i] = a[i] + share * (float)(b[i] - a[i]);
    SAMPLE *q = (SAMPLE *)row_at(out, y);
    for (int x = 0; x < out->width; x++) {
        float across = MAX(0.0f, ((float)x + 0.5f) / (float)factor - 0.5f);
        int left = (int)across, right = MIN(left + 1, in->width - 1);
        for (int c = 0; c < bands; c++, q++) {
            float from = row[left * bands + c], to = row[right * bands + c];
            *q = (SAMPLE)(from + (across - (float)left) * (to - from) + 0.5f);
        }
    }
}
