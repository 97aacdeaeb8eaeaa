/* Publishing, and events. */
#include "wit.h"

#define IS(error) PORTCULLIS_PLUGIN_PUBLISH_PUBLISH_ERROR_##error

static const pc_error *unpublished(const portcullis_plugin_publish_publish_error_t *error) {
    switch (error->tag) {
        case IS(DENIED): return refused(&error->val.denied);
        case IS(INVALID): return pc_failed("cannot be published: %.*s", PC_ARG(text_of(error->val.invalid)));
        case IS(EXHAUSTED): return exhausted(&error->val.exhausted);
        default: return failed_because(PC_NOT_PUBLISHED, "nothing is published under this name");
    }
}

static portcullis_plugin_publish_resource_body_t body_of(const pc_publication *publication) {
    portcullis_plugin_publish_resource_body_t body = {0};
    if (publication->is_bytes) {
        body.tag = PORTCULLIS_PLUGIN_TYPES_RESOURCE_BODY_BLOB;
        body.val.blob = wit_bytes(publication->body);
    } else {
        body.val.text = wit_text(pc_valid(publication->body));
    }
    return body;
}

const pc_error *pc_publish(const pc_publication *publication, pc_text *uri) {
    pcwit_string_t path = wit_text(publication->path), made;
    portcullis_plugin_publish_resource_body_t body = body_of(publication);
    portcullis_plugin_publish_role_t audience[2];
    size_t roles = 0;
    if (publication->for_user) audience[roles++] = PORTCULLIS_PLUGIN_TYPES_ROLE_USER;
    if (publication->for_assistant) audience[roles++] = PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT;
    portcullis_plugin_publish_attributes_t attributes = {
        .title = wit_maybe(pc_of(publication->title)),
        .description = wit_maybe(pc_of(publication->about)),
        .mime_type = wit_maybe(pc_of(publication->mime_type)),
        .audience = {audience, roles},
        .priority = {publication->priority.is, publication->priority.value},
        .ttl_ms = {publication->ttl_ms != 0, publication->ttl_ms},
    };
    portcullis_plugin_publish_publish_error_t error;
    if (!portcullis_plugin_publish_put_resource(&path, &body, &attributes, &made, &error)) return unpublished(&error);
    if (uri != NULL) *uri = text_of(made);
    return NULL;
}

const pc_error *pc_publish_more(const pc_publication *publication, pc_text *uri) {
    pcwit_string_t path = wit_text(publication->path), made;
    portcullis_plugin_publish_resource_body_t body = body_of(publication);
    portcullis_plugin_publish_publish_error_t error;
    if (!portcullis_plugin_publish_append_resource(&path, &body, &made, &error)) return unpublished(&error);
    if (uri != NULL) *uri = text_of(made);
    return NULL;
}

const pc_error *pc_unpublish(pc_text path) {
    pcwit_string_t name = wit_text(path);
    portcullis_plugin_publish_publish_error_t error;
    return portcullis_plugin_publish_remove_resource(&name, &error) ? NULL : unpublished(&error);
}

const pc_error *pc_publish_prompt(const pc_published_prompt *prompt) {
    size_t arguments = 0, messages = prompt->messages.count;
    while (prompt->arguments != NULL && prompt->arguments[arguments] != NULL) arguments++;
    portcullis_plugin_publish_published_prompt_t made = {
        .name = wit_text(pc_of(prompt->name)),
        .title = wit_maybe(pc_of(prompt->title)),
        .description = wit_maybe(pc_of(prompt->about)),
        .arguments = {pc_alloc_items(arguments, sizeof *made.arguments.ptr), arguments},
        .messages = {pc_alloc_items(messages, sizeof *made.messages.ptr), messages},
        .ttl_ms = {prompt->ttl_ms != 0, prompt->ttl_ms},
    };
    for (size_t i = 0; i < arguments; i++) made.arguments.ptr[i] = wit_text(pc_of(prompt->arguments[i]));
    for (size_t i = 0; i < messages; i++) {
        const pc_message *message = &prompt->messages.messages[i];
        if (message->content.kind != PC_CONTENT_TEXT) return pc_failed("cannot be published: the messages of a prompt are texts");
        made.messages.ptr[i].role = message->by_assistant ? PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT : PORTCULLIS_PLUGIN_TYPES_ROLE_USER;
        made.messages.ptr[i].text = wit_text(pc_valid(message->content.data));
    }
    portcullis_plugin_publish_publish_error_t error;
    return portcullis_plugin_publish_put_prompt(&made, &error) ? NULL : unpublished(&error);
}

const pc_error *pc_unpublish_prompt(const char *name) {
    pcwit_string_t text = wit_text(pc_of(name));
    portcullis_plugin_publish_publish_error_t error;
    return portcullis_plugin_publish_remove_prompt(&text, &error) ? NULL : unpublished(&error);
}

const pc_error *pc_event(const char *name, const pc_json *payload, const char *once, bool *added) {
    pcwit_string_t event = wit_text(pc_of(name)), json = wit_text(pc_json_write(payload)), key = wit_text(pc_of(once));
    portcullis_plugin_events_event_error_t error;
    bool is_new;
    if (!portcullis_plugin_events_emit(&event, &json, once == NULL ? NULL : &key, &is_new, &error)) {
        switch (error.tag) {
            case PORTCULLIS_PLUGIN_EVENTS_EVENT_ERROR_DENIED: return refused(&error.val.denied);
            case PORTCULLIS_PLUGIN_EVENTS_EVENT_ERROR_EXHAUSTED: return exhausted(&error.val.exhausted);
            default: return pc_failed("the event cannot be sent: %.*s", PC_ARG(text_of(error.val.invalid)));
        }
    }
    if (added != NULL) *added = is_new;
    return NULL;
}
