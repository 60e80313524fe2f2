#ifdef PhotoImaging
#include "internal.h"

#include <stdio.h>
#include <string.h>

// A custom source provides the bytes, although they are all in memory. libvips runs the entropy
// decoding of a progressive JPEG as one step, and only the read callback can stop that step.
typedef struct reader {
    const uint8_t *bytes;
    gint64 count;
    gint64 position;
    const cvips_token *token;
} reader;

static gint64 read_bytes(reader *reader, void *buffer, gint64 length) {
    if (cvips_token_check(reader->token) != CVIPS_STATUS_OK) return -1;
    gint64 left = reader->count - reader->position;
    gint64 count = MAX(0, MIN(length, left));
    if (count > 0) memcpy(buffer, reader->bytes + reader->position, (size_t)count);
    reader->position += count;
    return count;
}

static gint64 seek_bytes(reader *reader, gint64 offset, int whence) {
    gint64 base = 0;
    if (whence == SEEK_CUR) base = reader->position;
    else if (whence == SEEK_END) base = reader->count;
    else if (whence != SEEK_SET) return -1;
    gint64 position = base + offset;
    if (position < 0 || position > reader->count) return -1;
    reader->position = position;
    return position;
}

static gint64 on_read(VipsSourceCustom *source, void *buffer, gint64 length, reader *reader) {
    (void)source;
    CVIPS_ACQUIRE(reader);
    gint64 count = read_bytes(reader, buffer, length);
    CVIPS_RELEASE(reader);
    return count;
}

static gint64 on_seek(VipsSourceCustom *source, gint64 offset, int whence, reader *reader) {
    (void)source;
    CVIPS_ACQUIRE(reader);
    gint64 position = seek_bytes(reader, offset, whence);
    CVIPS_RELEASE(reader);
    return position;
}

static void reader_free(reader *reader) {
    CVIPS_ACQUIRE(reader);
    g_free(reader);
}

VipsSource *cvips_source_new(const uint8_t *bytes, size_t count, const cvips_token *token) {
    reader *state = g_try_new(reader, 1);
    if (!state) return NULL;
    *state = (reader){bytes, (gint64)count, 0, token};
    CVIPS_RELEASE(state);
    VipsSourceCustom *source = vips_source_custom_new();
    if (!source) {
        g_free(state);
        return NULL;
    }
    g_object_set_data_full(G_OBJECT(source), "cvips-reader", state, (GDestroyNotify)reader_free);
    g_signal_connect(source, "read", G_CALLBACK(on_read), state);
    g_signal_connect(source, "seek", G_CALLBACK(on_seek), state);
    return VIPS_SOURCE(source);
}
#endif
