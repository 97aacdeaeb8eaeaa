/* The export `resources`. */
#include "wit.h"

#include <string.h>

static bool is_pattern(const pc_resource *resource) {
    return strchr(resource->uri, '{') != NULL;
}

void exports_portcullis_plugin_resources_list_resources(exports_portcullis_plugin_resources_list_resource_info_t *list) {
    list->len = 0;
    list->ptr = pc_alloc_items(pc_resources_count, sizeof *list->ptr);
    for (size_t i = 0; i < pc_resources_count; i++) {
        const pc_resource *resource = &pc_resources[i];
        if (is_pattern(resource)) continue;
        list->ptr[list->len++] = (exports_portcullis_plugin_resources_resource_info_t){
            .uri = wit_text(pc_of(resource->uri)),
            .name = wit_text(pc_of(resource->name)),
            .title = wit_maybe(pc_of(resource->title)),
            .description = wit_maybe(pc_of(resource->about)),
            .mime_type = wit_maybe(pc_of(resource->mime_type)),
        };
    }
}

void exports_portcullis_plugin_resources_list_templates(exports_portcullis_plugin_resources_list_resource_template_t *list) {
    list->len = 0;
    list->ptr = pc_alloc_items(pc_resources_count, sizeof *list->ptr);
    for (size_t i = 0; i < pc_resources_count; i++) {
        const pc_resource *resource = &pc_resources[i];
        if (!is_pattern(resource)) continue;
        list->ptr[list->len++] = (exports_portcullis_plugin_resources_resource_template_t){
            .uri_template = wit_text(pc_of(resource->uri)),
            .name = wit_text(pc_of(resource->name)),
            .title = wit_maybe(pc_of(resource->title)),
            .description = wit_maybe(pc_of(resource->about)),
            .mime_type = wit_maybe(pc_of(resource->mime_type)),
        };
    }
}

bool exports_portcullis_plugin_resources_read_resource(exports_portcullis_plugin_resources_call_context_t *context, pcwit_string_t *uri,
                                                       exports_portcullis_plugin_resources_list_embedded_resource_t *list,
                                                       exports_portcullis_plugin_resources_read_error_t *error) {
    pc_call call = call_of(context);
    pc_found all = {0};
    const pc_error *wrong = run_resource(pc_resources, pc_resources_count, &call, text_of(*uri), &all);
    if (wrong != NULL) {
        *error = (exports_portcullis_plugin_resources_read_error_t){.tag = EXPORTS_PORTCULLIS_PLUGIN_RESOURCES_READ_ERROR_FAILED};
        error->val.failed = wit_error_of(wrong);
        return false;
    }
    *error = (exports_portcullis_plugin_resources_read_error_t){.tag = EXPORTS_PORTCULLIS_PLUGIN_RESOURCES_READ_ERROR_NOT_FOUND};
    if (all.missing) return false;
    list->len = all.count;
    list->ptr = pc_alloc_items(all.count, sizeof *list->ptr);
    for (size_t at = 0; at < all.count; at++) list->ptr[at] = wit_resource_of(&all.content[at]);
    return true;
}
