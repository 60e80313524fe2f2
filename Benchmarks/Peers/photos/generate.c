// Writes JPEGs that resemble photos in size and detail: `generate FOLDER COUNT WIDTH HEIGHT`.
//
// Each picture is the sum of smooth random waves of all sizes, down to the grain of single pixels,
// with some hard edges. The compressed size, about 0.2 bytes a pixel, and the time of the decoder
// are those of a camera's pictures. The same arguments always give the same files.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { LATTICE = 256, OCTAVES = 8, EDGES = 6, QUALITY = 88 };

static uint32_t state;

static uint32_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static float random_unit(void) { return (float)(next_random() >> 8) / (float)(1 << 24); }

static float lattice[3][LATTICE * LATTICE];

typedef struct edge {
    float across, down, offset, step[3];
} edge;

static float ease(float t) { return t * t * (3 - 2 * t); }

// Adds one octave of waves to a row of one channel.
static void add_octave(float *row, int width, int y, const float *values, int octave) {
    float size = (float)(1 << (OCTAVES - octave));
    // Each octave has less contrast than the next larger one, as in photos.
    float weight = 120.0f / (float)(1 << octave) + 13;
    float fy = (float)y / size;
    int y0 = (int)fy;
    float ty = ease(fy - (float)y0);
    const float *low = values + (size_t)((y0 + 31 * octave) % LATTICE) * LATTICE;
    const float *high = values + (size_t)((y0 + 1 + 31 * octave) % LATTICE) * LATTICE;
    for (int x = 0; x < width; x++) {
        float fx = (float)x / size;
        int x0 = (int)fx, a = (x0 + 17 * octave) % LATTICE, b = (a + 1) % LATTICE;
        float tx = ease(fx - (float)x0);
        float top = low[a] + tx * (low[b] - low[a]), bottom = high[a] + tx * (high[b] - high[a]);
        row[x] += weight * (top + ty * (bottom - top) - 0.5f);
    }
}

static void make_row(
    uint8_t *out, float *sums, int width, int height, int y, const edge edges[EDGES]) {
    // The first channel is the brightness; the other two are colors, which change slowly.
    for (int c = 0; c < 3; c++) {
        float *row = sums + (size_t)c * (size_t)width;
        for (int x = 0; x < width; x++) row[x] = 0;
        for (int octave = 0; octave < (c ? 3 : OCTAVES + 1); octave++)
            add_octave(row, width, y, lattice[c], octave);
        for (int i = 0; i < EDGES; i++)
            for (int x = 0; x < width; x++)
                if (edges[i].across * (float)x / (float)width +
                        edges[i].down * (float)y / (float)height > edges[i].offset)
                    row[x] += edges[i].step[c];
    }
    for (int x = 0; x < width; x++) {
        float light = 128 + sums[x], red = sums[width + x], blue = sums[2 * width + x];
        const float rgb[3] = {light + 0.4f * red, light - 0.2f * (red + blue), light + 0.4f * blue};
        for (int c = 0; c < 3; c++)
            out[3 * x + c] = (uint8_t)(rgb[c] < 0 ? 0 : rgb[c] > 255 ? 255 : rgb[c]);
    }
}

static void write_picture(const char *path, int width, int height) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < LATTICE * LATTICE; i++) lattice[c][i] = random_unit();
    edge edges[EDGES];
    for (int i = 0; i < EDGES; i++) {
        edges[i] = (edge){random_unit() * 2 - 1, random_unit() * 2 - 1, random_unit() - 0.5f, {0}};
        for (int c = 0; c < 3; c++) edges[i].step[c] = 60 * (random_unit() - 0.5f);
    }
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct encoder = {.err = jpeg_std_error(&errors)};
    jpeg_create_compress(&encoder);
    jpeg_stdio_dest(&encoder, file);
    encoder.image_width = (JDIMENSION)width;
    encoder.image_height = (JDIMENSION)height;
    encoder.input_components = 3;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, QUALITY, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    uint8_t *row = malloc((size_t)width * 3);
    float *sums = malloc((size_t)width * 3 * sizeof *sums);
    if (!row || !sums) abort();
    for (int y = 0; y < height; y++) {
        make_row(row, sums, width, height, y, edges);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    free(row);
    free(sums);
    if (fclose(file)) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: generate FOLDER COUNT WIDTH HEIGHT\n");
        return 2;
    }
    int count = atoi(argv[2]), width = atoi(argv[3]), height = atoi(argv[4]);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/photo-%03d.jpg", argv[1], i);
        state = 2463534242u + (uint32_t)i * 7919u;
        write_picture(path, width, height);
    }
    return 0;
}
