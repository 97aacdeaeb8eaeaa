/* Content for the host and of it, and what a call is told of itself. */
#include "wit.h"

portcullis_plugin_types_embedded_resource_t wit_resource_of(const pc_content *content) {
    portcullis_plugin_types_embedded_resource_t resource = {.uri = wit_text(content->uri), .mime_type = wit_maybe(content->mime_type)};
    if (content->is_bytes) {
        resource.body.tag = PORTCULLIS_PLUGIN_TYPES_RESOURCE_BODY_BLOB;
        resource.body.val.blob = wit_bytes(content->data);
    } else {
        resource.body.val.text = wit_text(pc_valid(content->data));
    }
    return resource;
}

static portcullis_plugin_types_option_content_annotations_t annotations(const pc_content *content) {
    portcullis_plugin_types_option_content_annotations_t made = {0};
    made.is_some = content->for_user || content->for_assistant || content->priority.is || content->last_modified.at != NULL;
    if (content->for_user || content->for_assistant) {
        made.val.audience.ptr = pc_alloc_items(2, sizeof *made.val.audience.ptr);
        if (content->for_user) made.val.audience.ptr[made.val.audience.len++] = PORTCULLIS_PLUGIN_TYPES_ROLE_USER;
        if (content->for_assistant) made.val.audience.ptr[made.val.audience.len++] = PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT;
    }
    made.val.priority = (pcwit_option_f64_t){content->priority.is, content->priority.value};
    made.val.last_modified = wit_maybe(content->last_modified);
    return made;
}

wit_content wit_content_of(const pc_content *content) {
    wit_content made = {.annotations = annotations(content)};
    made.data.tag = (uint8_t)content->kind;
    portcullis_plugin_types_blob_t blob = {wit_text(content->mime_type), wit_bytes(content->data)};
    switch (content->kind) {
        case PC_CONTENT_TEXT: made.data.val.text = wit_text(pc_valid(content->data)); break;
        case PC_CONTENT_IMAGE: made.data.val.image = blob; break;
        case PC_CONTENT_AUDIO: made.data.val.audio = blob; break;
        case PC_CONTENT_RESOURCE: made.data.val.resource = wit_resource_of(content); break;
        case PC_CONTENT_LINK:
            made.data.val.resource_link = (portcullis_plugin_types_resource_link_t){
                .uri = wit_text(content->uri),
                .name = wit_text(content->name),
                .title = wit_maybe(content->title),
                .description = wit_maybe(content->description),
                .mime_type = wit_maybe(content->mime_type),
                .size = {content->size != 0, content->size},
            };
    }
    return made;
}

wit_content *wit_contents_of(const pc_content *content, size_t count) {
    wit_content *made = pc_alloc_items(count, sizeof *made);
    for (size_t i = 0; i < count; i++) made[i] = wit_content_of(&content[i]);
    return made;
}

static pc_content content_of(const wit_content *from) {
    pc_content made = {.kind = (pc_content_kind)from->data.tag};
    const portcullis_plugin_types_blob_t *blob = made.kind == PC_CONTENT_IMAGE ? &from->data.val.image : &from->data.val.audio;
    const portcullis_plugin_types_embedded_resource_t *resource = &from->data.val.resource;
    const portcullis_plugin_types_resource_link_t *link = &from->data.val.resource_link;
    switch (made.kind) {
        case PC_CONTENT_TEXT: made.data = text_of(from->data.val.text); break;
        case PC_CONTENT_IMAGE:
        case PC_CONTENT_AUDIO:
            made.mime_type = text_of(blob->mime_type);
            made.data = bytes_of(blob->data);
            break;
        case PC_CONTENT_RESOURCE:
            made.uri = text_of(resource->uri);
            made.mime_type = maybe_of(resource->mime_type);
            made.is_bytes = resource->body.tag == PORTCULLIS_PLUGIN_TYPES_RESOURCE_BODY_BLOB;
            made.data = made.is_bytes ? bytes_of(resource->body.val.blob) : text_of(resource->body.val.text);
            break;
        case PC_CONTENT_LINK:
            made.uri = text_of(link->uri);
            made.name = text_of(link->name);
            made.title = maybe_of(link->title);
            made.description = maybe_of(link->description);
            made.mime_type = maybe_of(link->mime_type);
            made.size = link->size.is_some ? link->size.val : 0;
    }
    if (!from->annotations.is_some) return made;
    const portcullis_plugin_types_content_annotations_t *notes = &from->annotations.val;
    for (size_t i = 0; i < notes->audience.len; i++) {
        if (notes->audience.ptr[i] == PORTCULLIS_PLUGIN_TYPES_ROLE_USER) made.for_user = true;
        else made.for_assistant = true;
    }
    made.priority = (pc_bound){notes->priority.is_some, notes->priority.val};
    made.last_modified = maybe_of(notes->last_modified);
    return made;
}

pc_content *contents_of(const wit_content *content, size_t count) {
    pc_content *made = pc_alloc_items(count, sizeof *made);
    for (size_t i = 0; i < count; i++) made[i] = content_of(&content[i]);
    return made;
}

pc_call call_of(const portcullis_plugin_types_call_context_t *call) {
    return (pc_call){
        .id = text_of(call->id),
        .principal = text_of(call->principal),
        .correlation_id = maybe_of(call->correlation_id),
        .idempotency_key = maybe_of(call->idempotency_key),
        .traceparent = maybe_of(call->traceparent),
        .deadline_ms = call->deadline_ms,
    };
}
