/* Calls of the agent's tools. */
#include "wit.h"

#define IS(error) PORTCULLIS_PLUGIN_AGENT_TOOLS_AGENT_ERROR_##error

static const pc_error *unanswered(const portcullis_plugin_agent_tools_agent_error_t *error) {
    const portcullis_plugin_types_tool_result_t *result = &error->val.tool_error;
    switch (error->tag) {
        case IS(UNKNOWN_TOOL):
            return failed_because(PC_UNKNOWN_TOOL, "there is no agent tool `%.*s`", PC_ARG(text_of(error->val.unknown_tool)));
        case IS(NOT_SUPPORTED):
            return pc_unsupported(pc_format("agent tools are not supported: %.*s", PC_ARG(text_of(error->val.not_supported))).at);
        case IS(DENIED): return refused(&error->val.denied);
        case IS(DECLINED):
            return failed_because(PC_DECLINED, "declined: %.*s", PC_ARG(text_of(error->val.declined)));
        case IS(CYCLE):
            return pc_failed("`%.*s` is already being called in this chain", PC_ARG(text_of(error->val.cycle)));
        case IS(TIMEOUT):
            return failed_because(PC_NO_ANSWER, "no answer within %llu ms", (unsigned long long)error->val.timeout);
        case IS(EXHAUSTED): return exhausted(&error->val.exhausted);
        case IS(CANCELLED): return cancelled("the call was cancelled");
        case IS(INVALID_ARGUMENTS):
            return pc_failed("invalid arguments: %.*s", PC_ARG(text_of(error->val.invalid_arguments)));
        case IS(TOOL_ERROR): {
            pc_text said = pc_all_text(contents_of(result->content.ptr, result->content.len), result->content.len);
            return failed_because(PC_TOOL_FAILED, "the agent tool failed: %.*s", PC_ARG(said));
        }
        default: return pc_failed("the agent tool broke: %.*s", PC_ARG(text_of(error->val.failed)));
    }
}

static portcullis_plugin_agent_tools_call_options_t options_of(const pc_agent_options *options) {
    return (portcullis_plugin_agent_tools_call_options_t){
        .timeout_ms = {options->timeout_ms != 0, options->timeout_ms},
        .purpose = wit_maybe(pc_of(options->purpose)),
        .chunks = options->chunks,
    };
}

static pc_agent_result result_of(const portcullis_plugin_agent_tools_agent_result_t *given) {
    return (pc_agent_result){
        .content = contents_of(given->content.ptr, given->content.len),
        .count = given->content.len,
        .structured = maybe_of(given->structured),
        .is_private = given->private_,
        .edited = maybe_of(given->edited),
    };
}

const pc_error *pc_call_tool(const char *name, const pc_json *arguments, const pc_agent_options *options, pc_agent_result *result) {
    static const pc_agent_options none = {0};
    pcwit_string_t called = wit_text(pc_of(name)), object = wit_text(pc_json_write(arguments));
    portcullis_plugin_agent_tools_call_options_t how = options_of(options == NULL ? &none : options);
    portcullis_plugin_agent_tools_agent_result_t given;
    portcullis_plugin_agent_tools_agent_error_t error;
    if (!portcullis_plugin_agent_tools_call(&called, &object, &how, &given, &error)) return unanswered(&error);
    *result = result_of(&given);
    return NULL;
}

void pc_call_tools(pc_agent_call *calls, size_t count) {
    portcullis_plugin_agent_tools_list_agent_call_t all = {pc_alloc_items(count, sizeof *all.ptr), count};
    portcullis_plugin_agent_tools_list_result_agent_result_agent_error_t given;
    for (size_t i = 0; i < count; i++) {
        all.ptr[i] = (portcullis_plugin_agent_tools_agent_call_t){
            wit_text(pc_of(calls[i].name)), wit_text(pc_json_write(calls[i].arguments)), options_of(&calls[i].options)};
    }
    portcullis_plugin_agent_tools_call_many(&all, &given);
    for (size_t i = 0; i < count; i++) {
        calls[i].error = i >= given.len ? cancelled("the call was cancelled") : given.ptr[i].is_err ? unanswered(&given.ptr[i].val.err) : NULL;
        if (calls[i].error == NULL) calls[i].result = result_of(&given.ptr[i].val.ok);
    }
}

void pc_agent_tools(pc_agent_tool **tools, size_t *count) {
    portcullis_plugin_agent_tools_list_tool_t all;
    portcullis_plugin_agent_tools_list_tools(&all);
    *count = all.len;
    *tools = pc_alloc_items(all.len, sizeof **tools);
    for (size_t i = 0; i < all.len; i++) {
        (*tools)[i] = (pc_agent_tool){text_of(all.ptr[i].name), maybe_of(all.ptr[i].title), text_of(all.ptr[i].description),
                                      text_of(all.ptr[i].input_schema), maybe_of(all.ptr[i].output_schema)};
    }
}
