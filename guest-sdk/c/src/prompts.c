/* The export `prompts`. */
#include "wit.h"

static size_t count(const pc_field *fields) {
    size_t found = 0;
    while (fields != NULL && fields[found].name != NULL) found++;
    return found;
}

void exports_portcullis_plugin_prompts_list_prompts(exports_portcullis_plugin_prompts_list_prompt_t *list) {
    list->len = pc_prompts_count;
    list->ptr = pc_alloc_items(pc_prompts_count, sizeof *list->ptr);
    for (size_t i = 0; i < pc_prompts_count; i++) {
        const pc_prompt *prompt = &pc_prompts[i];
        size_t arguments = count(prompt->arguments);
        list->ptr[i] = (exports_portcullis_plugin_prompts_prompt_t){
            .name = wit_text(pc_of(prompt->name)),
            .title = wit_maybe(pc_of(prompt->title)),
            .description = wit_maybe(pc_of(prompt->about)),
            .arguments = {pc_alloc_items(arguments, sizeof *list->ptr[i].arguments.ptr), arguments},
        };
        for (size_t at = 0; at < arguments; at++) {
            const pc_field *field = &prompt->arguments[at];
            list->ptr[i].arguments.ptr[at] = (exports_portcullis_plugin_prompts_prompt_argument_t){
                .name = wit_text(pc_of(field->name)),
                .title = wit_maybe(pc_of(field->title)),
                .description = wit_maybe(pc_of(field->about)),
                .required = !field->optional && !field->otherwise.is,
            };
        }
    }
}

bool exports_portcullis_plugin_prompts_get_prompt(exports_portcullis_plugin_prompts_call_context_t *context, pcwit_string_t *name,
                                                  pcwit_list_tuple2_string_string_t *arguments,
                                                  exports_portcullis_plugin_prompts_prompt_result_t *result,
                                                  exports_portcullis_plugin_prompts_tool_error_t *error) {
    pc_call call = call_of(context);
    pc_said said = {0};
    pc_json given = pc_json_object();
    for (size_t i = 0; i < arguments->len; i++) {
        pc_set(&given, pc_format("%.*s", PC_ARG(text_of(arguments->ptr[i].f0))).at, pc_json_of_text(text_of(arguments->ptr[i].f1)));
    }
    const pc_error *wrong = run_prompt(pc_prompts, pc_prompts_count, &call, text_of(*name), &given, &said);
    if (wrong != NULL) {
        *error = wit_error_of(wrong);
        return false;
    }
    *result = (exports_portcullis_plugin_prompts_prompt_result_t){0};
    result->messages.len = said.count;
    result->messages.ptr = pc_alloc_items(said.count, sizeof *result->messages.ptr);
    for (size_t i = 0; i < said.count; i++) {
        result->messages.ptr[i].role = said.messages[i].by_assistant ? PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT : PORTCULLIS_PLUGIN_TYPES_ROLE_USER;
        result->messages.ptr[i].content = wit_content_of(&said.messages[i].content);
    }
    return true;
}
