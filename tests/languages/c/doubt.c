/* A request of which nobody knows whether it happened, when the host has ended meanwhile. */
#include "polyglot.h"

const pc_field reserve_arguments[] = {{PC_TEXT(named, name)}, PC_END};

const pc_error *reserve(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const named *asked = arguments;
    pc_request request = {
        .url = pc_format("http://localhost:8444/v1/place/%.*s", PC_ARG(asked->name)),
        .content_type = "application/json",
        .body = pc_record_write(reserve_arguments, asked),
    };
    pc_response response;
    PC_TRY(pc_send(&request, &response));
    pc_say(result, pc_format("%d %.*s", response.status, PC_ARG(pc_valid(response.body))));
    return NULL;
}

static pc_verdict find_out(const pc_doubt *doubt) {
    static pc_header type;
    type = (pc_header){pc_of("content-type"), pc_of("text/plain")};
    pc_verdict verdict = {.done = PC_UNKNOWN};
    named asked;
    bool is_ours = doubt->effect == PC_EFFECT_HTTP && pc_is(doubt->tool, "reserve") && pc_is(doubt->method, "POST");
    if (!is_ours || pc_record_read(reserve_arguments, &asked, doubt->arguments) != NULL || pc_is(asked.name, "lost")) return verdict;
    pc_request request = {.url = doubt->url};
    pc_response found;
    if (pc_send(&request, &found) != NULL) return verdict;
    if (found.status == 404) verdict.done = PC_NOT_DONE;
    if (found.status == 200) verdict = (pc_verdict){.done = PC_DONE, .status = 201, .headers = &type, .headers_count = 1, .body = found.body};
    return verdict;
}

PC_RECONCILE(find_out);
