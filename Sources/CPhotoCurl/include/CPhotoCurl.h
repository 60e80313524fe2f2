#ifndef CCURL_H
#define CCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#pragma clang assume_nonnull begin

// Swift cannot call libcurl's functions with variable arguments. This wrapper offers what one
// download needs: a client that carries out one transfer at a time, and keeps its connection for
// the next one.
//
// A client belongs to one thread at a time. Only `ccurl_wake` may be called by any thread.
typedef struct ccurl_client ccurl_client;

// What a transfer asks and tells its owner, on the thread that calls `ccurl_step`. Each function
// returns whether the transfer may go on.
typedef struct {
    void *context;
    // Before a connection is made to an address, and thus before anything is sent to it.
    bool (*connects)(void *context, const struct sockaddr *address);
    // Each line of the head, with the end of the line; also those of interim responses.
    bool (*head)(void *context, const char *line, size_t length);
    bool (*body)(void *context, const char *bytes, size_t length);
} ccurl_owner;

// The parts of a URL, and the rest of a request. The strings are needed only during the call of
// `ccurl_begin`.
typedef struct {
    const char *scheme, *host, *port;
    // The path, and the query with its question mark, as the server gets them.
    const char *target;
    // Lines of the head, as "Accept: image/*".
    const char *_Nullable const *_Nullable fields;
    size_t field_count;
    long connect_milliseconds;
} ccurl_request;

// How a transfer has ended.
typedef enum {
    CCURL_DONE = 0,
    CCURL_STOPPED,         // a function of the owner has returned false
    CCURL_UNKNOWN_HOST,
    CCURL_UNREACHABLE,
    CCURL_CONNECT_TIMEOUT,
    CCURL_CLOSED_EARLY,    // also after bytes that are no HTTP
    CCURL_FAILED,          // see ccurl_message
} ccurl_outcome;

// Null if the system has no memory or no free file descriptor.
ccurl_client *_Nullable ccurl_make(void);
// Closes the connection.
void ccurl_free(ccurl_client *client);

// Begins a GET over HTTP/1.1. Redirections are not followed, and no proxy, cookie or password of the
// user is used.
ccurl_outcome ccurl_begin(ccurl_client *client, const ccurl_request *request, ccurl_owner owner);
// Carries on for at most some milliseconds, or until `ccurl_wake` is called. Returns whether the
// transfer has ended; if so, stores how.
bool ccurl_step(ccurl_client *client, int milliseconds, ccurl_outcome *outcome);
// Ends the call of `ccurl_step` that another thread is in, or else the next one.
void ccurl_wake(ccurl_client *client);
// Ends the transfer. The connection stays open if the response has arrived as a whole.
void ccurl_end(ccurl_client *client);

// What went wrong, after CCURL_FAILED.
const char *ccurl_message(const ccurl_client *client);

#pragma clang assume_nonnull end

#endif
