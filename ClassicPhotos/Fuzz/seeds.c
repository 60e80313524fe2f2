// Writes a small picture of each format into a folder, for the fuzzing of pictures: `seeds FOLDER`.

#include "CPhotoVips.h"

#include <stdio.h>

enum { WIDTH = 48, HEIGHT = 32, BANDS = 4, FORMATS = CVIPS_FORMAT_AVIF + 1 };

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    uint8_t pixels[WIDTH * HEIGHT * BANDS];
    for (int i = 0; i < WIDTH * HEIGHT * BANDS; i++)
        pixels[i] = (uint8_t)(i * 7 % 251 + i / WIDTH % 5);
    for (int format = 0; format < FORMATS; format++) {
        const cvips_picture picture = {pixels, WIDTH, HEIGHT, format % 2 ? 4 : 3, 1, 1};
        const cvips_encode_options options = {.format = (cvips_format)format, .quality = 75};
        cvips_bytes file;
        if (!cvips_can_encode(options.format) ||
            cvips_encode(&picture, &options, NULL, &file) != CVIPS_STATUS_OK)
            continue;
        // One file for the full size and one for a small box with everything kept.
        for (int choice = 0; choice < 2; choice++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%d-%d", argv[1], format, choice);
            FILE *out = fopen(path, "wb");
            if (!out) {
                perror(path);
                return 1;
            }
            fputc(choice ? 15 : 0, out);
            fwrite(file.bytes, 1, file.count, out);
            fclose(out);
        }
        cvips_free(file.bytes);
    }
    return 0;
}
