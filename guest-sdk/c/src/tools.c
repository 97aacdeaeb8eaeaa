/* The export `tools`, and what generated code calls. */
#include "wit.h"

/* In place of `free` in the generated code, which would free static tables and the arena, too. Instances end with their
 * call, so nothing grows for long. */
void pc_leave(void *memory) {
    (void)memory;
}

static pcwit_option_bool_t hint(pc_hint hint) {
    return (pcwit_option_bool_t){hint != PC_UNSET, hint == PC_YES};
}

void exports_portcullis_plugin_tools_list_tools(exports_portcullis_plugin_tools_list_tool_t *list) {
    list->len = pc_tools_count;
    list->ptr = pc_alloc_items(pc_tools_count, sizeof *list->ptr);
    for (size_t i = 0; i < pc_tools_count; i++) {
        const pc_tool *tool = &pc_tools[i];
        list->ptr[i] = (portcullis_plugin_types_tool_t){
            .name = wit_text(pc_of(tool->name)),
            .title = wit_maybe(pc_of(tool->title)),
            .description = wit_text(pc_or(pc_of(tool->about), "")),
            .input_schema = wit_text(pc_input_schema(tool->arguments)),
            .output_schema = wit_maybe(tool->returns == NULL ? PC_NONE : pc_output_schema(tool->returns)),
            .annotations = {hint(tool->read_only), hint(tool->destructive), hint(tool->idempotent), hint(tool->open_world)},
            .execution = (portcullis_plugin_types_execution_t)tool->execution,
        };
    }
}

bool exports_portcullis_plugin_tools_call_tool(exports_portcullis_plugin_tools_call_context_t *context, pcwit_string_t *name,
                                               pcwit_string_t *arguments, exports_portcullis_plugin_tools_tool_result_t *returned,
                                               exports_portcullis_plugin_tools_tool_error_t *error) {
    pc_call call = call_of(context);
    pc_result result = {0};
    const pc_error *wrong = run_tool(pc_tools, pc_tools_count, &call, text_of(*name), text_of(*arguments), &result);
    if (wrong != NULL) {
        *error = wit_error_of(wrong);
        return false;
    }
    *returned = (portcullis_plugin_types_tool_result_t){
        .content = {wit_contents_of(result.content, result.count), result.count},
        .structured = wit_maybe(result.structured),
        .is_error = result.is_error,
    };
    return true;
}
