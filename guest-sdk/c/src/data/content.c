/* Content, and what tools, resources and prompts make of it. */
#include "portcullis.h"

pc_content pc_words(pc_text text) {
    return (pc_content){.kind = PC_CONTENT_TEXT, .data = text};
}

pc_content pc_image(const char *mime_type, pc_text bytes) {
    return (pc_content){.kind = PC_CONTENT_IMAGE, .data = bytes, .mime_type = pc_of(mime_type)};
}

pc_content pc_audio(const char *mime_type, pc_text bytes) {
    return (pc_content){.kind = PC_CONTENT_AUDIO, .data = bytes, .mime_type = pc_of(mime_type)};
}

pc_content pc_link(const char *uri, const char *name) {
    return (pc_content){.kind = PC_CONTENT_LINK, .uri = pc_of(uri), .name = pc_of(name)};
}

pc_content pc_resource_text(pc_text uri, const char *mime_type, pc_text text) {
    return (pc_content){.kind = PC_CONTENT_RESOURCE, .uri = uri, .mime_type = pc_of(mime_type), .data = text};
}

pc_content pc_resource_bytes(pc_text uri, const char *mime_type, pc_text bytes) {
    return (pc_content){.kind = PC_CONTENT_RESOURCE, .uri = uri, .mime_type = pc_of(mime_type), .data = bytes, .is_bytes = true};
}

pc_text pc_all_text(const pc_content *content, size_t count) {
    pc_text *texts = pc_alloc_items(count, sizeof *texts);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (content[i].kind == PC_CONTENT_TEXT) texts[found++] = content[i].data;
    }
    return pc_join(texts, found, "\n");
}

void pc_add(pc_result *result, pc_content content) {
    result->content = pc_one_more(result->content, result->count, sizeof content);
    result->content[result->count++] = content;
}

void pc_say(pc_result *result, pc_text text) {
    pc_add(result, pc_words(text));
}

void pc_return(pc_result *result, const pc_field *fields, const void *record) {
    result->structured = pc_record_write(fields, record);
    pc_say(result, result->structured);
}

static void found(pc_found *found, pc_content content) {
    found->content = pc_one_more(found->content, found->count, sizeof content);
    found->content[found->count++] = content;
}

void pc_found_text(pc_found *all, pc_text uri, pc_text text) {
    found(all, pc_resource_text(uri, NULL, text));
}

void pc_found_bytes(pc_found *all, pc_text uri, pc_text bytes) {
    found(all, pc_resource_bytes(uri, NULL, bytes));
}

static void says(pc_said *said, bool by_assistant, pc_text text) {
    pc_message message = {by_assistant, pc_words(text)};
    said->messages = pc_one_more(said->messages, said->count, sizeof message);
    said->messages[said->count++] = message;
}

void pc_user_says(pc_said *said, pc_text text) {
    says(said, false, text);
}

void pc_assistant_says(pc_said *said, pc_text text) {
    says(said, true, text);
}
