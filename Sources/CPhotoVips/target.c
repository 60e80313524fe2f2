#ifdef PhotoImaging
#include "internal.h"

#include <stdio.h>
#include <string.h>

// Encoders write through this target, not through libvips' own memory target, so that every write
// can stop the encoder. Compressing a strip of PNG or TIFF can take longer than a cancellation may
// take.
typedef struct writer {
    GByteArray *bytes;
    gint64 position;
    const cvips_token *token;
} writer;

static gint64 write_bytes(writer *writer, const void *data, gint64 length) {
    if (cvips_token_check(writer->token) != CVIPS_STATUS_OK) return -1;
    gint64 end = writer->position + length;
    // GByteArray has a 32-bit length and aborts beyond it.
    if (length < 0 || end > G_MAXINT32) return -1;
    if (end > (gint64)writer->bytes->len) g_byte_array_set_size(writer->bytes, (guint)end);
    memcpy(writer->bytes->data + writer->position, data, (size_t)length);
    writer->position = end;
    return length;
}

// The TIFF encoder reads back earlier output.
static gint64 read_bytes(writer *writer, void *data, gint64 length) {
    gint64 left = (gint64)writer->bytes->len - writer->position;
    gint64 count = MAX(0, MIN(length, left));
    if (count > 0) memcpy(data, writer->bytes->data + writer->position, (size_t)count);
    writer->position += count;
    return count;
}

static gint64 seek_bytes(writer *writer, gint64 offset, int whence) {
    gint64 base = 0;
    if (whence == SEEK_CUR) base = writer->position;
    else if (whence == SEEK_END) base = writer->bytes->len;
    else if (whence != SEEK_SET) return -1;
    gint64 position = base + offset;
    if (position < 0 || position > G_MAXINT32) return -1;
    // Fills a gap with zeros, as in a file.
    guint old = writer->bytes->len;
    if (position > (gint64)old) {
        g_byte_array_set_size(writer->bytes, (guint)position);
        memset(writer->bytes->data + old, 0, (size_t)position - old);
    }
    writer->position = position;
    return position;
}

static gint64 on_write(VipsTargetCustom *target, const void *data, gint64 length, writer *writer) {
    (void)target;
    CVIPS_ACQUIRE(writer);
    gint64 count = write_bytes(writer, data, length);
    CVIPS_RELEASE(writer);
    return count;
}

static gint64 on_read(VipsTargetCustom *target, void *data, gint64 length, writer *writer) {
    (void)target;
    CVIPS_ACQUIRE(writer);
    gint64 count = read_bytes(writer, data, length);
    CVIPS_RELEASE(writer);
    return count;
}

static gint64 on_seek(VipsTargetCustom *target, gint64 offset, int whence, writer *writer) {
    (void)target;
    CVIPS_ACQUIRE(writer);
    gint64 position = seek_bytes(writer, offset, whence);
    CVIPS_RELEASE(writer);
    return position;
}

static void writer_free(writer *writer) {
    CVIPS_ACQUIRE(writer);
    g_byte_array_unref(writer->bytes);
    g_free(writer);
}

VipsTarget *cvips_target_new(const cvips_token *token) {
    writer *state = g_try_new(writer, 1);
    if (!state) return NULL;
    *state = (writer){g_byte_array_new(), 0, token};
    CVIPS_RELEASE(state);
    VipsTargetCustom *target = vips_target_custom_new();
    if (!target) {
        writer_free(state);
        return NULL;
    }
    g_object_set_data_full(
        G_OBJECT(target), "cvips-writer", state, (GDestroyNotify)writer_free);
    g_signal_connect(target, "write", G_CALLBACK(on_write), state);
    g_signal_connect(target, "read", G_CALLBACK(on_read), state);
    g_signal_connect(target, "seek", G_CALLBACK(on_seek), state);
    return VIPS_TARGET(target);
}

cvips_bytes cvips_target_take(VipsTarget *target) {
    writer *state = g_object_get_data(G_OBJECT(target), "cvips-writer");
    CVIPS_ACQUIRE(state);
    gsize count = 0;
    guint8 *bytes = g_byte_array_steal(state->bytes, &count);
    return (cvips_bytes){bytes, count};
}
#endif
