/* Errors of the host, and those of a tool for the host. */
#include "wit.h"

const pc_error *refused(const wit_denial *denial) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_DENIED;
    error->capability = text_of(denial->capability);
    error->target = text_of(denial->target);
    error->remedy = text_of(denial->remedy);
    bool mends = error->remedy.length != 0;
    error->text = pc_format("denied: %.*s does not allow `%.*s`%s%.*s", PC_ARG(error->capability), PC_ARG(error->target),
                            mends ? ". " : "", PC_ARG(error->remedy));
    return error;
}

const pc_error *exhausted(const wit_exhaustion *exhaustion) {
    /* In the order of the WIT's enum. */
    static const char *const names[][2] = {
        {"fuel", ""},
        {"CPU time", " ms"},
        {"time", " ms"},
        {"memory", " bytes"},
        {"output", " bytes"},
        {"output", " chunks"},
        {"questions to the client", " questions"},
        {"what a model may write", " tokens"},
        {"what may be stored", ""},
        {"calls of agent tools", " calls"},
        {"nesting of calls", " levels"},
        {"arguments", " bytes"},
        {"results of agent tools", " bytes"},
        {"waiting for agent tools", " ms"},
    };
    size_t known = sizeof names / sizeof *names;
    const char *const *name = names[exhaustion->budget < known ? exhaustion->budget : 0];
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_EXHAUSTED;
    error->budget = exhaustion->budget;
    error->limit = exhaustion->limit;
    error->text = pc_format("the limit on %s is reached: %llu%s", name[0], (unsigned long long)exhaustion->limit, name[1]);
    return error;
}

wit_tool_error wit_error_of(const pc_error *error) {
    wit_tool_error made = {0};
    pcwit_string_t text = wit_text(pc_valid(error->text));
    switch (error->kind) {
        case PC_INVALID_ARGUMENTS:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_INVALID_ARGUMENTS;
            made.val.invalid_arguments = text;
            break;
        case PC_FAILED:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_FAILED;
            made.val.failed = text;
            break;
        case PC_CANCELLED:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_CANCELLED;
            break;
        case PC_UNSUPPORTED:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_UNSUPPORTED;
            made.val.unsupported = text;
            break;
        case PC_DENIED:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_DENIED;
            made.val.denied = (wit_denial){wit_text(error->capability), wit_text(error->target), wit_text(error->remedy)};
            break;
        case PC_EXHAUSTED:
            made.tag = PORTCULLIS_PLUGIN_TYPES_TOOL_ERROR_EXHAUSTED;
            made.val.exhausted = (wit_exhaustion){error->budget, error->limit};
    }
    return made;
}
