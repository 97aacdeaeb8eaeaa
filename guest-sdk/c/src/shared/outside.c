/* What is made of other functions of the host. */
#include "host.h"

#include <string.h>

/* Each further try means that another call has got its change in. */
#define TRIES 32

const pc_error *pc_emit(pc_text text, uint64_t *number) {
    pc_content content = pc_words(text);
    return pc_emit_content(&content, 1, number);
}

const pc_error *pc_agent_value(const pc_agent_result *result, pc_json *value) {
    bool text = result->structured.at == NULL;
    pc_text json = text ? pc_all_text(result->content, result->count) : result->structured;
    const pc_error *wrong = pc_json_read(json, value);
    if (wrong == NULL) return NULL;
    if (!text) return pc_failed("the agent tool's answer is not what was expected: %.*s", PC_ARG(wrong->text));
    *value = pc_json_of_text(json);
    return NULL;
}

const pc_error *pc_state_update(pc_text key, pc_change change, void *with, pc_text *changed) {
    const pc_error *error = NULL;
    for (int i = 0; i < TRIES; i++) {
        pc_entry entry;
        PC_TRY(pc_state_get(key, &entry));
        PC_TRY(change(entry.found ? entry.value : PC_NONE, with, changed));
        error = pc_state_swap(key, entry.found ? &entry.version : NULL, *changed);
        if (error == NULL || error->cause != PC_CONFLICT) return error;
    }
    return error;
}

const pc_error *pc_status(const pc_response *response) {
    if (response->status >= 200 && response->status < 300) return NULL;
    return failed_because(PC_BAD_STATUS, "the other server answered with status %d", response->status);
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

pc_text pc_header_of(const pc_response *response, const char *name) {
    for (size_t i = 0; i < response->headers_count; i++) {
        pc_text known = response->headers[i].name;
        bool same = known.length == strlen(name);
        for (size_t at = 0; same && at < known.length; at++) same = lower(known.at[at]) == lower(name[at]);
        if (same) return response->headers[i].value;
    }
    return PC_NONE;
}
