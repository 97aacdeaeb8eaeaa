/* Between the types of the generated bindings and those of the SDK. Nothing is copied but lists. */
#ifndef PORTCULLIS_WIT_H
#define PORTCULLIS_WIT_H

#include "pcwit.h"
#include "shared/host.h"

typedef portcullis_plugin_types_content_t wit_content;
typedef portcullis_plugin_types_denial_t wit_denial;
typedef portcullis_plugin_types_exhaustion_t wit_exhaustion;
typedef portcullis_plugin_types_tool_error_t wit_tool_error;

static inline pcwit_string_t wit_text(pc_text text) {
    return (pcwit_string_t){(uint8_t *)text.at, text.length};
}

static inline pcwit_list_u8_t wit_bytes(pc_text text) {
    return (pcwit_list_u8_t){(uint8_t *)text.at, text.length};
}

static inline pcwit_option_string_t wit_maybe(pc_text text) {
    return (pcwit_option_string_t){text.at != NULL, wit_text(text)};
}

/* An empty text is there, too. */
static inline pc_text text_of(pcwit_string_t text) {
    return text.len == 0 ? pc_of("") : (pc_text){(const char *)text.ptr, text.len};
}

static inline pc_text bytes_of(pcwit_list_u8_t bytes) {
    return bytes.len == 0 ? pc_of("") : (pc_text){(const char *)bytes.ptr, bytes.len};
}

static inline pc_text maybe_of(pcwit_option_string_t text) {
    return text.is_some ? text_of(text.val) : PC_NONE;
}

wit_content wit_content_of(const pc_content *content);
wit_content *wit_contents_of(const pc_content *content, size_t count);
pc_content *contents_of(const wit_content *content, size_t count);
portcullis_plugin_types_embedded_resource_t wit_resource_of(const pc_content *content);
pc_call call_of(const portcullis_plugin_types_call_context_t *call);

const pc_error *refused(const wit_denial *denial);
const pc_error *exhausted(const wit_exhaustion *exhaustion);
wit_tool_error wit_error_of(const pc_error *error);

#endif
