/* The export `completions`. */
#include "wit.h"

void pc_suggest(pc_suggestions *suggestions, pc_text value) {
    suggestions->values = pc_one_more(suggestions->values, suggestions->count, sizeof value);
    suggestions->values[suggestions->count++] = value;
}

bool exports_portcullis_plugin_completions_complete(exports_portcullis_plugin_completions_call_context_t *context,
                                                    exports_portcullis_plugin_completions_reference_t *reference, pcwit_string_t *argument,
                                                    pcwit_string_t *value, pcwit_list_tuple2_string_string_t *others,
                                                    exports_portcullis_plugin_completions_completion_t *completion,
                                                    exports_portcullis_plugin_completions_tool_error_t *error) {
    (void)others;
    pc_call call = call_of(context);
    bool prompt = reference->tag == EXPORTS_PORTCULLIS_PLUGIN_COMPLETIONS_REFERENCE_PROMPT;
    pc_text of = text_of(prompt ? reference->val.prompt : reference->val.resource_template);
    pc_suggestions suggestions = {0};
    const pc_error *wrong = pc_complete(&call, of, text_of(*argument), text_of(*value), &suggestions);
    if (wrong != NULL) {
        *error = wit_error_of(wrong);
        return false;
    }
    *completion = (exports_portcullis_plugin_completions_completion_t){.total = {true, suggestions.count}};
    completion->values.len = suggestions.count;
    completion->values.ptr = pc_alloc_items(suggestions.count, sizeof *completion->values.ptr);
    for (size_t i = 0; i < suggestions.count; i++) completion->values.ptr[i] = wit_text(suggestions.values[i]);
    return true;
}
