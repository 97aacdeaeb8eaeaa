/* Values that are kept between calls. */
#include "wit.h"

#define IS(error) PORTCULLIS_PLUGIN_STATE_STATE_ERROR_##error

static const pc_error *unkept(const portcullis_plugin_state_state_error_t *error) {
    switch (error->tag) {
        case IS(DENIED): return refused(&error->val.denied);
        case IS(INVALID):
            return pc_failed("it cannot be kept or read: %.*s", PC_ARG(text_of(error->val.invalid)));
        case IS(EXHAUSTED): return exhausted(&error->val.exhausted);
        case IS(CONFLICT): return failed_because(PC_CONFLICT, "somebody else changed it meanwhile");
        default: return pc_failed("nothing is kept: %.*s", PC_ARG(text_of(error->val.failed)));
    }
}

const pc_error *pc_state_get(pc_text key, pc_entry *entry) {
    pcwit_string_t name = wit_text(key);
    portcullis_plugin_state_option_entry_t found;
    portcullis_plugin_state_state_error_t error;
    if (!portcullis_plugin_state_get(&name, &found, &error)) return unkept(&error);
    *entry = (pc_entry){.found = found.is_some};
    if (found.is_some) {
        entry->value = bytes_of(found.val.value);
        entry->version = found.val.version;
    }
    return NULL;
}

const pc_error *pc_state_set(pc_text key, pc_text value) {
    pcwit_string_t name = wit_text(key);
    pcwit_list_u8_t bytes = wit_bytes(value);
    uint64_t version;
    portcullis_plugin_state_state_error_t error;
    return portcullis_plugin_state_set(&name, &bytes, &version, &error) ? NULL : unkept(&error);
}

const pc_error *pc_state_swap(pc_text key, const uint64_t *version, pc_text value) {
    pcwit_string_t name = wit_text(key);
    pcwit_list_u8_t bytes = wit_bytes(value);
    uint64_t wanted = version == NULL ? 0 : *version, fresh;
    portcullis_plugin_state_state_error_t error;
    bool kept = portcullis_plugin_state_swap(&name, version == NULL ? NULL : &wanted, &bytes, &fresh, &error);
    return kept ? NULL : unkept(&error);
}

const pc_error *pc_state_remove(pc_text key, bool *was_there) {
    pcwit_string_t name = wit_text(key);
    bool there;
    portcullis_plugin_state_state_error_t error;
    if (!portcullis_plugin_state_remove(&name, &there, &error)) return unkept(&error);
    if (was_there != NULL) *was_there = there;
    return NULL;
}

const pc_error *pc_state_keys(pc_text prefix, pc_text **keys, size_t *count) {
    pcwit_string_t begins = wit_text(prefix);
    *keys = NULL;
    *count = 0;
    for (;;) {
        pcwit_string_t after = *count == 0 ? (pcwit_string_t){0} : wit_text((*keys)[*count - 1]);
        pcwit_list_string_t page;
        portcullis_plugin_state_state_error_t error;
        if (!portcullis_plugin_state_keys(&begins, *count == 0 ? NULL : &after, &page, &error)) return unkept(&error);
        if (page.len == 0) return NULL;
        for (size_t i = 0; i < page.len; i++) {
            *keys = pc_one_more(*keys, *count, sizeof **keys);
            (*keys)[(*count)++] = text_of(page.ptr[i]);
        }
    }
}
