/* Requests over `wasi:http`. */
#include "wit.h"

#include <string.h>

/* The most bytes that WASI accepts in one write, and those that are asked for in one read. */
#define PIECE 4096
#define READ (64 << 10)
#define MOST (4 << 20)

typedef wasi_http_types_error_code_t code;

static const pc_error *unsent(const char *why) {
    return pc_failed("the request cannot be sent: %s", why);
}

/* The method, and the URL as grants write it. */
static pc_text target(const char *method, pc_text url) {
    size_t length = 0;
    while (length < url.length && url.at[length] != '?' && url.at[length] != '#') length++;
    return pc_format("%s %.*s", method, (int)length, url.at);
}

static const pc_error *broken(const code *code, pc_text target) {
    pcwit_option_string_t why = code->val.internal_error;
    switch (code->tag) {
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED: return pc_denied("http", target);
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_URI_INVALID:
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_URI_TOO_LONG: return unsent("the URL is none that is sent");
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_METHOD_INVALID: return unsent("the method is none that is sent");
        case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TIMEOUT:
        case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_READ_TIMEOUT:
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_TIMEOUT: return failed_because(PC_NO_ANSWER, "the other server did not answer in time");
        case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_LIMIT_REACHED: return pc_failed("a limit was reached: requests of this call");
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_BODY_SIZE: return pc_failed("a limit was reached: the size of the request's body");
        case WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_BODY_SIZE: return pc_failed("a limit was reached: the size of the answer's body");
        case WASI_HTTP_TYPES_ERROR_CODE_DESTINATION_NOT_FOUND: return pc_failed("the other server failed: its name cannot be resolved");
        case WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_REFUSED: return pc_failed("the other server failed: no connection could be made");
        case WASI_HTTP_TYPES_ERROR_CODE_INTERNAL_ERROR:
            if (why.is_some) return pc_failed("the other server failed: %.*s", PC_ARG(text_of(why.val)));
            __attribute__((fallthrough));
        default: return pc_failed("the other server failed: error %d of wasi:http", code->tag);
    }
}

static bool append(wasi_http_types_borrow_fields_t fields, pc_text name, pc_text value) {
    pcwit_string_t key = wit_text(name);
    wasi_http_types_field_value_t bytes = {(uint8_t *)value.at, value.length};
    wasi_http_types_header_error_t error;
    return wasi_http_types_method_fields_append(fields, &key, &bytes, &error);
}

static const pc_error *headers(const pc_request *request, wasi_http_types_own_fields_t *made) {
    *made = wasi_http_types_constructor_fields();
    wasi_http_types_borrow_fields_t fields = wasi_http_types_borrow_fields(*made);
    bool good = request->content_type == NULL || append(fields, pc_of("content-type"), pc_of(request->content_type));
    if (!good) return unsent("the header `content-type` is not valid");
    for (size_t i = 0; i < request->headers_count; i++) {
        const pc_header *header = &request->headers[i];
        if (!append(fields, header->name, header->value)) return unsent(pc_format("the header `%.*s` is not valid", PC_ARG(header->name)).at);
    }
    pcwit_string_t length = wit_text(pc_of("content-length"));
    if (request->body.length != 0 && !wasi_http_types_method_fields_has(fields, &length)) {
        append(fields, text_of(length), pc_format("%zu", request->body.length));
    }
    return NULL;
}

static wasi_http_types_method_t method_of(const char *name) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    for (uint8_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], name) == 0) return (wasi_http_types_method_t){.tag = i};
    }
    return (wasi_http_types_method_t){.tag = WASI_HTTP_TYPES_METHOD_OTHER, .val.other = wit_text(pc_of(name))};
}

static bool begins(pc_text text, const char *with) {
    return text.length >= strlen(with) && memcmp(text.at, with, strlen(with)) == 0;
}

static const pc_error *outgoing(const pc_request *request, const char *method, wasi_http_types_own_outgoing_request_t *made) {
    pc_text url = request->url;
    size_t skip;
    wasi_http_types_scheme_t scheme = {0};
    if (url.at != NULL && begins(url, "https://")) skip = 8, scheme.tag = WASI_HTTP_TYPES_SCHEME_HTTPS;
    else if (url.at != NULL && begins(url, "http://")) skip = 7, scheme.tag = WASI_HTTP_TYPES_SCHEME_HTTP;
    else return unsent("the scheme must be https or http");
    const char *from = url.at + skip, *end = from, *path;
    while (end < url.at + url.length && *end != '#') end++;
    for (path = from; path < end && *path != '/' && *path != '?';) path++;
    pcwit_string_t authority = wit_text((pc_text){from, (size_t)(path - from)});
    pcwit_string_t rest = wit_text(path == end ? pc_of("/") : (pc_text){path, (size_t)(end - path)});
    wasi_http_types_own_fields_t fields;
    PC_TRY(headers(request, &fields));
    *made = wasi_http_types_constructor_outgoing_request(fields);
    wasi_http_types_borrow_outgoing_request_t borrowed = wasi_http_types_borrow_outgoing_request(*made);
    wasi_http_types_method_t verb = method_of(method);
    bool set = wasi_http_types_method_outgoing_request_set_method(borrowed, &verb) &&
               wasi_http_types_method_outgoing_request_set_scheme(borrowed, &scheme) &&
               wasi_http_types_method_outgoing_request_set_authority(borrowed, &authority) &&
               wasi_http_types_method_outgoing_request_set_path_with_query(borrowed, &rest);
    return set ? NULL : unsent("the method or the URL is malformed");
}

/* A host that does not support one of these uses its own time. */
static wasi_http_types_own_request_options_t options(uint64_t timeout_ms) {
    wasi_http_types_duration_t nanos = timeout_ms > UINT64_MAX / 1000000 ? UINT64_MAX : timeout_ms * 1000000;
    wasi_http_types_own_request_options_t made = wasi_http_types_constructor_request_options();
    wasi_http_types_borrow_request_options_t borrowed = wasi_http_types_borrow_request_options(made);
    wasi_http_types_method_request_options_set_connect_timeout(borrowed, &nanos);
    wasi_http_types_method_request_options_set_first_byte_timeout(borrowed, &nanos);
    wasi_http_types_method_request_options_set_between_bytes_timeout(borrowed, &nanos);
    return made;
}

/* Writes and ends the body. A server that stops reading says why in its answer. */
static bool write_body(wasi_http_types_own_outgoing_body_t body, pc_text bytes, code *error) {
    wasi_http_types_own_output_stream_t stream;
    if (!wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) return true;
    bool written = true;
    for (size_t at = 0; written && at < bytes.length; at += PIECE) {
        size_t length = bytes.length - at < PIECE ? bytes.length - at : PIECE;
        pcwit_list_u8_t piece = {(uint8_t *)bytes.at + at, length};
        wasi_io_streams_stream_error_t ended;
        written = wasi_io_streams_method_output_stream_blocking_write_and_flush(wasi_io_streams_borrow_output_stream(stream), &piece, &ended);
    }
    wasi_io_streams_output_stream_drop_own(stream);
    if (!written) return true;
    return wasi_http_types_static_outgoing_body_finish(body, NULL, error);
}

/* Reads at most so many bytes. */
static bool read_body(wasi_http_types_own_incoming_body_t body, size_t most, pc_response *response, code *error) {
    wasi_http_types_own_input_stream_t stream;
    if (!wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream)) return true;
    wasi_io_streams_borrow_input_stream_t borrowed = wasi_io_streams_borrow_input_stream(stream);
    pc_text *pieces = NULL;
    size_t count = 0, length = 0;
    for (;;) {
        pcwit_list_u8_t piece;
        wasi_io_streams_stream_error_t ended;
        if (!wasi_io_streams_method_input_stream_blocking_read(borrowed, READ, &piece, &ended)) {
            if (ended.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED) break;
            wasi_io_error_borrow_error_t why = wasi_io_error_borrow_error(ended.val.last_operation_failed);
            if (!wasi_http_types_http_error_code(why, error)) error->tag = WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_INCOMPLETE;
            return false;
        }
        if (piece.len == 0) continue;
        pieces = pc_one_more(pieces, count, sizeof *pieces);
        pieces[count++] = bytes_of(piece);
        length += piece.len;
        if (length <= most) continue;
        response->truncated = true;
        pieces[count - 1].length -= length - most;
        break;
    }
    response->body = pc_join(pieces, count, "");
    wasi_io_streams_input_stream_drop_own(stream);
    return true;
}

const pc_error *pc_send(const pc_request *request, pc_response *response) {
    const char *method = request->method != NULL ? request->method : request->body.length != 0 ? "POST" : "GET";
    pc_text what = target(method, request->url);
    wasi_http_types_own_outgoing_request_t sent;
    wasi_http_types_own_outgoing_body_t body;
    wasi_http_types_own_future_incoming_response_t future;
    code error;
    PC_TRY(outgoing(request, method, &sent));
    bool has_body = request->body.length != 0;
    if (has_body && !wasi_http_types_method_outgoing_request_body(wasi_http_types_borrow_outgoing_request(sent), &body)) {
        return unsent("it has two bodies");
    }
    wasi_http_types_own_request_options_t how = {0};
    if (request->timeout_ms != 0) how = options(request->timeout_ms);
    if (!wasi_http_outgoing_handler_handle(sent, request->timeout_ms == 0 ? NULL : &how, &future, &error)) return broken(&error, what);
    if (has_body && !write_body(body, request->body, &error)) return broken(&error, what);
    wasi_http_types_borrow_future_incoming_response_t waited = wasi_http_types_borrow_future_incoming_response(future);
    wasi_http_types_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(waited);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
    wasi_io_poll_pollable_drop_own(ready);
    wasi_http_types_result_result_own_incoming_response_error_code_void_t answer;
    if (!wasi_http_types_method_future_incoming_response_get(waited, &answer) || answer.is_err) {
        return pc_failed("the other server failed: there is no answer");
    }
    if (answer.val.ok.is_err) return broken(&answer.val.ok.val.err, what);
    wasi_http_types_borrow_incoming_response_t incoming = wasi_http_types_borrow_incoming_response(answer.val.ok.val.ok);
    *response = (pc_response){.status = wasi_http_types_method_incoming_response_status(incoming)};
    wasi_http_types_own_headers_t fields = wasi_http_types_method_incoming_response_headers(incoming);
    wasi_http_types_list_tuple2_field_name_field_value_t entries;
    wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(fields), &entries);
    wasi_http_types_fields_drop_own(fields);
    response->headers_count = entries.len;
    response->headers = pc_alloc_items(entries.len, sizeof *response->headers);
    for (size_t i = 0; i < entries.len; i++) {
        pc_text value = {(const char *)entries.ptr[i].f1.ptr, entries.ptr[i].f1.len};
        response->headers[i] = (pc_header){text_of(entries.ptr[i].f0), value.length == 0 ? pc_of("") : pc_valid(value)};
    }
    wasi_http_types_own_incoming_body_t received;
    if (!wasi_http_types_method_incoming_response_consume(incoming, &received)) return pc_failed("the other server failed: its body is gone");
    return read_body(received, request->most == 0 ? MOST : request->most, response, &error) ? NULL : broken(&error, what);
}
