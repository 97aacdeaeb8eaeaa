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

const pc_error *pc_call_tool(const char *name, const pc_json *arguments, const pc_agent_options *options, pc_agent_result *result) {
    static const pc_agent_options none = {0};
    if (options == NULL) options = &none;
    pcwit_string_t called = wit_text(pc_of(name)), object = wit_text(pc_json_write(arguments));
    portcullis_plugin_agent_tools_call_options_t how = {
        .timeout_ms = {options->timeout_ms != 0, options->timeout_ms},
        .purpose = wit_maybe(pc_of(options->purpose)),
        .chunks = options->chunks,
    };
    portcullis_plugin_agent_tools_agent_result_t given;
    portcullis_plugin_agent_tools_agent_error_t error;
    if (!portcullis_plugin_agent_tools_call(&called, &object, &how, &given, &error)) return unanswered(&error);
    *result = (pc_agent_result){
        .content = contents_of(given.content.ptr, given.content.len),
        .count = given.content.len,
        .structured = maybe_of(given.structured),
        .is_private = given.private_,
        .edited = maybe_of(given.edited),
    };
    return NULL;
}

const pc_error *pc_agent_value(const pc_agent_result *result, pc_json *value) {
    bool text = result->structured.at == NULL;
    pc_text json = text ? pc_all_text(result->content, result->count) : result->structured;
    const pc_error *wrong = pc_json_read(json, value);
    if (wrong == NULL) return NULL;
    if (!text) return pc_failed("the agent tool's answer is not what was expected: %.*s", PC_ARG(wrong->text));
    *value = pc_json_of_text(json);
    return NULL;
}
