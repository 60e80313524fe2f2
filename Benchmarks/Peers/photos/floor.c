// The least that libjpeg-turbo needs for a small picture of each JPEG: `floor FOLDER SIDE THREADS`.
//
// Decodes at the smallest of its scales with at least twice SIDE pixels, and encodes that
// picture, which is larger than the other programs' results, without any resampling or filter. The
// rest of a real program's work comes on top.

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { MOST_FILES = 10000, QUALITY = 80 };

static char *paths[MOST_FILES];
static int count, side;
static atomic_int next_file;

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) return NULL;
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*length);
    if (bytes && fread(bytes, 1, *length, file) != *length) {
        free(bytes);
        bytes = NULL;
    }
    fclose(file);
    return bytes;
}

static void convert(const uint8_t *bytes, size_t length) {
    struct jpeg_error_mgr errors;
    struct jpeg_decompress_struct decoder = {.err = jpeg_std_error(&errors)};
    struct jpeg_compress_struct encoder = {.err = &errors};
    jpeg_create_decompress(&decoder);
    jpeg_create_compress(&encoder);
    jpeg_mem_src(&decoder, bytes, length);
    jpeg_read_header(&decoder, TRUE);
    decoder.scale_num = 1;
    JDIMENSION longer = decoder.image_width > decoder.image_height ? decoder.image_width
                                                                   : decoder.image_height;
    decoder.scale_denom = 1;
    while (decoder.scale_denom < 8 && longer / (decoder.scale_denom * 2) >= 2 * (JDIMENSION)side)
        decoder.scale_denom *= 2;
    decoder.out_color_space = JCS_RGB;
    jpeg_start_decompress(&decoder);

    unsigned char *result = NULL;
    unsigned long size = 0;
    jpeg_mem_dest(&encoder, &result, &size);
    encoder.image_width = decoder.output_width;
    encoder.image_height = decoder.output_height;
    encoder.input_components = 3;
    encoder.in_color_space = JCS_RGB;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, QUALITY, TRUE);
    jpeg_start_compress(&encoder, TRUE);
    uint8_t *row = malloc((size_t)decoder.output_width * 3);
    if (!row) abort();
    while (decoder.output_scanline < decoder.output_height) {
        jpeg_read_scanlines(&decoder, &row, 1);
        jpeg_write_scanlines(&encoder, &row, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_finish_decompress(&decoder);
    jpeg_destroy_compress(&encoder);
    jpeg_destroy_decompress(&decoder);
    free(row);
    free(result);
}

static void *work(void *unused) {
    (void)unused;
    for (;;) {
        int index = atomic_fetch_add(&next_file, 1);
        if (index >= count) return NULL;
        size_t length = 0;
        uint8_t *bytes = read_file(paths[index], &length);
        if (!bytes) {
            perror(paths[index]);
            exit(1);
        }
        convert(bytes, length);
        free(bytes);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: floor FOLDER SIDE THREADS\n");
        return 2;
    }
    side = atoi(argv[2]);
    DIR *folder = opendir(argv[1]);
    if (!folder) {
        perror(argv[1]);
        return 1;
    }
    for (struct dirent *entry; count < MOST_FILES && (entry = readdir(folder));) {
        if (!strstr(entry->d_name, ".jpg")) continue;
        size_t length = strlen(argv[1]) + strlen(entry->d_name) + 2;
        paths[count] = malloc(length);
        if (!paths[count]) abort();
        snprintf(paths[count++], length, "%s/%s", argv[1], entry->d_name);
    }
    closedir(folder);
    enum { MOST_THREADS = 64 };
    pthread_t threads[MOST_THREADS];
    int width = atoi(argv[3]);
    width = width < 1 ? 1 : width > MOST_THREADS ? MOST_THREADS : width;
    for (int i = 0; i < width; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < width; i++) pthread_join(threads[i], NULL);
    return 0;
}
