#ifdef PhotoPipeline
#include "CPhotoCurl.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct ccurl_client {
    CURL *easy;
    CURLM *multi;
    CURLU *url;
    struct curl_slist *fields;
    ccurl_owner owner;
    char message[CURL_ERROR_SIZE];
    bool is_added;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up(void) { curl_global_init(CURL_GLOBAL_DEFAULT); }

// libcurl may write to a connection that the other side has closed. Signals that it raises by that
// must not end the program, whatever the program does about them elsewhere.
typedef struct {
    sigset_t old;
    bool was_pending;
} quiet;

static quiet begin_quiet(void) {
    quiet quiet;
    sigset_t pipe, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    quiet.was_pending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &quiet.old);
    return quiet;
}

static void end_quiet(quiet quiet) {
    sigset_t pending;
    sigpending(&pending);
    if (!quiet.was_pending && sigismember(&pending, SIGPIPE) == 1) {
        sigset_t pipe;
        int signal;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        sigwait(&pipe, &signal);
    }
    pthread_sigmask(SIG_SETMASK, &quiet.old, NULL);
}

static curl_socket_t connects(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    ccurl_client *client = context;
    if (purpose != CURLSOCKTYPE_IPCXN || !client->owner.connects(client->owner.context,
                                                                 &address->addr)) {
        return CURL_SOCKET_BAD;
    }
    int type = address->socktype;
#ifdef SOCK_CLOEXEC
    type |= SOCK_CLOEXEC;
#endif
    return socket(address->family, type, address->protocol);
}

static bool is_blank(char character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

// Whether a line of a head announces a body that libcurl would have to decompress. Versions before
// 8.1 do that without being asked, and a small body can then become endless.
static bool is_compressed(const char *line, size_t length) {
    static const char name[] = "transfer-encoding:";
    size_t start = sizeof name - 1;
    if (length < start || strncasecmp(line, name, start) != 0) return false;
    while (start < length && is_blank(line[start])) start++;
    while (length > start && is_blank(line[length - 1])) length--;
    size_t rest = length - start;
    return !(rest == 7 && strncasecmp(line + start, "chunked", 7) == 0)
           && !(rest == 8 && strncasecmp(line + start, "identity", 8) == 0);
}

static size_t head(char *line, size_t size, size_t count, void *context) {
    ccurl_client *client = context;
    if (is_compressed(line, size * count)) return 0;
    return client->owner.head(client->owner.context, line, size * count) ? size * count : 0;
}

static size_t body(char *bytes, size_t size, size_t count, void *context) {
    ccurl_client *client = context;
    // A different number than that of the bytes ends the transfer, also if that number is zero.
    return client->owner.body(client->owner.context, bytes, size * count) ? size * count
                                                                          : size * count + 1;
}

ccurl_client *ccurl_make(void) {
    pthread_once(&once, set_up);
    ccurl_client *client = calloc(1, sizeof(ccurl_client));
    if (client == NULL) return NULL;
    client->easy = curl_easy_init();
    client->multi = curl_multi_init();
    if (client->easy == NULL || client->multi == NULL) {
        ccurl_free(client);
        return NULL;
    }
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, 1L);
    curl_easy_setopt(client->easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x081400
    curl_multi_setopt(client->multi, CURLMOPT_QUICK_EXIT, 1L);
#endif
    return client;
}

void ccurl_free(ccurl_client *client) {
    quiet quiet = begin_quiet();
    ccurl_end(client);
    if (client->easy != NULL) curl_easy_cleanup(client->easy);
    if (client->multi != NULL) curl_multi_cleanup(client->multi);
    end_quiet(quiet);
    free(client);
}

static ccurl_outcome fail(ccurl_client *client, const char *message) {
    strncpy(client->message, message, sizeof client->message - 1);
    return CCURL_FAILED;
}

ccurl_outcome ccurl_begin(ccurl_client *client, const ccurl_request *request, ccurl_owner owner) {
    CURL *easy = client->easy;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    client->owner = owner;
    memset(client->message, 0, sizeof client->message);

    // The URL is set in parts, so that no two readers of a URL can disagree about its host.
    client->url = curl_url();
    if (client->url == NULL) return fail(client, "no memory");
    if (curl_url_set(client->url, CURLUPART_SCHEME, request->scheme, 0) != CURLUE_OK
        || curl_url_set(client->url, CURLUPART_HOST, request->host, 0) != CURLUE_OK
        || curl_url_set(client->url, CURLUPART_PORT, request->port, 0) != CURLUE_OK) {
        return fail(client, "the address is not valid");
    }
    curl_easy_setopt(easy, CURLOPT_CURLU, client->url);
    // libcurl sends this as it is.
    for (const char *next = request->target; *next != 0; next++) {
        if ((unsigned char)*next <= ' ' || *next == 0x7f) {
            return fail(client, "the address is not valid");
        }
    }
    curl_easy_setopt(easy, CURLOPT_REQUEST_TARGET, request->target);

    for (size_t index = 0; index < request->field_count; index++) {
        struct curl_slist *longer = curl_slist_append(client->fields, request->fields[index]);
        if (longer == NULL) return fail(client, "no memory");
        client->fields = longer;
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, client->fields);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
#if LIBCURL_VERSION_NUM >= 0x075700
    // The end of a transfer does not wait for a name server.
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, request->connect_milliseconds);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, client->message);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, connects);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, client);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, head);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, client);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, client);
    if (curl_multi_add_handle(client->multi, easy) != CURLM_OK) return fail(client, "no memory");
    client->is_added = true;
    return CCURL_DONE;
}

static ccurl_outcome outcome_of(ccurl_client *client, CURLcode code) {
    switch (code) {
    case CURLE_OK: return CCURL_DONE;
    case CURLE_WRITE_ERROR: return CCURL_STOPPED;
    case CURLE_COULDNT_RESOLVE_HOST: return CCURL_UNKNOWN_HOST;
    case CURLE_COULDNT_CONNECT: return CCURL_UNREACHABLE;
    // There is no other time limit than that of the connection.
    case CURLE_OPERATION_TIMEDOUT: return CCURL_CONNECT_TIMEOUT;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_BAD_CONTENT_ENCODING:
#if LIBCURL_VERSION_NUM >= 0x073300
    case CURLE_WEIRD_SERVER_REPLY:
#endif
    // Something that is no HTTP, such as HTTP/0.9.
    case CURLE_UNSUPPORTED_PROTOCOL: return CCURL_CLOSED_EARLY;
    default:
        if (client->message[0] == 0) fail(client, curl_easy_strerror(code));
        return CCURL_FAILED;
    }
}

bool ccurl_step(ccurl_client *client, int milliseconds, ccurl_outcome *outcome) {
    quiet quiet = begin_quiet();
    int running = 0;
    CURLMcode code = curl_multi_perform(client->multi, &running);
    if (code == CURLM_OK && running > 0) {
        code = curl_multi_poll(client->multi, NULL, 0, milliseconds, NULL);
        if (code == CURLM_OK) code = curl_multi_perform(client->multi, &running);
    }
    end_quiet(quiet);
    if (code != CURLM_OK) {
        *outcome = fail(client, curl_multi_strerror(code));
        return true;
    }
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        *outcome = outcome_of(client, message->data.result);
        return true;
    }
    return false;
}

void ccurl_wake(ccurl_client *client) { curl_multi_wakeup(client->multi); }

void ccurl_end(ccurl_client *client) {
    quiet quiet = begin_quiet();
    if (client->is_added) curl_multi_remove_handle(client->multi, client->easy);
    end_quiet(quiet);
    client->is_added = false;
    curl_slist_free_all(client->fields);
    client->fields = NULL;
    curl_url_cleanup(client->url);
    client->url = NULL;
}

const char *ccurl_message(const ccurl_client *client) { return client->message; }
#endif
