/* Requests with an account that the user has connected. */
#include "wit.h"

#define IS(error) PORTCULLIS_PLUGIN_CONNECTIONS_CONNECTION_ERROR_##error
#define MOST (4 << 20)

static const pc_error *unsent(const portcullis_plugin_connections_connection_error_t *error) {
    switch (error->tag) {
        case IS(DENIED): return refused(&error->val.denied);
        case IS(NOT_CONNECTED): return failed_because(PC_NOT_CONNECTED, "the account is not connected");
        case IS(INVALID): return pc_failed("the request cannot be sent: %.*s", PC_ARG(text_of(error->val.invalid)));
        case IS(EXHAUSTED): return exhausted(&error->val.exhausted);
        case IS(TIMEOUT): return failed_because(PC_NO_ANSWER, "no answer within %llu ms", (unsigned long long)error->val.timeout);
        default: return pc_failed("the other server failed: %.*s", PC_ARG(text_of(error->val.failed)));
    }
}

const pc_error *pc_connected(const char *connection, bool *connected) {
    pcwit_string_t name = wit_text(pc_of(connection));
    portcullis_plugin_connections_connection_error_t error;
    return portcullis_plugin_connections_connected(&name, connected, &error) ? NULL : unsent(&error);
}

const pc_error *pc_send_as(const char *connection, const pc_request *request, pc_response *response) {
    pcwit_string_t name = wit_text(pc_of(connection));
    const char *method = request->method != NULL ? request->method : request->body.length != 0 ? "POST" : "GET";
    portcullis_plugin_connections_request_t sent = {
        .method = wit_text(pc_of(method)),
        .path = wit_text(request->url),
        .headers = {pc_alloc_items(request->headers_count + 1, sizeof *sent.headers.ptr), 0},
        .body = wit_bytes(request->body),
    };
    if (request->content_type != NULL) {
        sent.headers.ptr[sent.headers.len++] = (pcwit_tuple2_string_string_t){wit_text(pc_of("content-type")), wit_text(pc_of(request->content_type))};
    }
    for (size_t i = 0; i < request->headers_count; i++) {
        sent.headers.ptr[sent.headers.len++] = (pcwit_tuple2_string_string_t){wit_text(request->headers[i].name), wit_text(request->headers[i].value)};
    }
    portcullis_plugin_connections_response_t given;
    portcullis_plugin_connections_connection_error_t error;
    if (!portcullis_plugin_connections_send(&name, &sent, &given, &error)) return unsent(&error);
    size_t most = request->most == 0 ? MOST : request->most;
    *response = (pc_response){.status = given.status, .body = bytes_of(given.body), .truncated = given.body.len > most};
    if (response->truncated) response->body.length = most;
    response->headers_count = given.headers.len;
    response->headers = pc_alloc_items(given.headers.len, sizeof *response->headers);
    for (size_t i = 0; i < given.headers.len; i++) {
        response->headers[i] = (pc_header){text_of(given.headers.ptr[i].f0), text_of(given.headers.ptr[i].f1)};
    }
    return NULL;
}
