/* The export `completions`. */
#include "wit.h"

/* The most that a client gets. */
#define MOST 100

bool exports_portcullis_plugin_completions_complete(exports_portcullis_plugin_completions_call_context_t *context,
                                                    exports_portcullis_plugin_completions_reference_t *reference, pcwit_string_t *argument,
                                                    pcwit_string_t *value, pcwit_list_tuple2_string_string_t *others,
                                                    exports_portcullis_plugin_completions_completion_t *completion,
                                                    exports_portcullis_plugin_completions_tool_error_t *error) {
    pc_call call = call_of(context);
    pc_filled *filled = pc_alloc_items(others->len, sizeof *filled);
    for (size_t i = 0; i < others->len; i++) filled[i] = (pc_filled){text_of(others->ptr[i].f0), text_of(others->ptr[i].f1)};
    pc_typed typed = {&call, text_of(*value), filled, others->len};
    bool prompt = reference->tag == EXPORTS_PORTCULLIS_PLUGIN_COMPLETIONS_REFERENCE_PROMPT;
    pc_text of = text_of(prompt ? reference->val.prompt : reference->val.resource_template);
    pc_suggested suggested = {0};
    const pc_error *wrong = run_completion(pc_completions, pc_completions_count, &typed, prompt, of, text_of(*argument), &suggested);
    if (wrong != NULL) {
        *error = wit_error_of(wrong);
        return false;
    }
    size_t sent = suggested.count < MOST ? suggested.count : MOST;
    *completion = (exports_portcullis_plugin_completions_completion_t){
        .values = {pc_alloc_items(sent, sizeof *completion->values.ptr), sent},
        .total = {true, suggested.count},
        .has_more = suggested.count > MOST,
    };
    for (size_t i = 0; i < sent; i++) completion->values.ptr[i] = wit_text(pc_valid(suggested.values[i]));
    return true;
}
