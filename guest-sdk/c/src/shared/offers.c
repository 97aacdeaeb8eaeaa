/* Finds in the tables what is called, and runs it. */
#include "host.h"

#include <string.h>

const pc_error *run_tool(const pc_tool *tools, size_t count, const pc_call *call, pc_text name, pc_text arguments, pc_result *result) {
    for (size_t i = 0; i < count; i++) {
        const pc_tool *tool = &tools[i];
        if (!pc_is(name, tool->name)) continue;
        void *given = pc_alloc(tool->arguments_size);
        if (tool->arguments != NULL) PC_TRY(pc_record_read(tool->arguments, given, arguments));
        return tool->call(call, given, result);
    }
    return pc_unsupported(pc_format("this plugin has no tool named `%.*s`", PC_ARG(name)).at);
}

const pc_error *run_resource(const pc_resource *resources, size_t count, const pc_call *call, pc_text uri, pc_found *found) {
    for (size_t i = 0; i < count; i++) {
        const pc_resource *resource = &resources[i];
        pc_text *variables;
        if (!pc_matches(resource->uri, uri, &variables)) continue;
        PC_TRY(resource->read(call, uri, variables, found));
        for (size_t at = 0; at < found->count; at++) found->content[at].mime_type = pc_or(found->content[at].mime_type, resource->mime_type);
        return NULL;
    }
    found->missing = true;
    return NULL;
}

const pc_error *run_prompt(const pc_prompt *prompts, size_t count, const pc_call *call, pc_text name, const pc_json *arguments, pc_said *said) {
    for (size_t i = 0; i < count; i++) {
        const pc_prompt *prompt = &prompts[i];
        if (!pc_is(name, prompt->name)) continue;
        void *given = pc_alloc(prompt->arguments_size);
        if (prompt->arguments != NULL) PC_TRY(pc_record_from(prompt->arguments, given, arguments));
        return prompt->get(call, given, said);
    }
    return pc_unsupported(pc_format("this plugin has no prompt named `%.*s`", PC_ARG(name)).at);
}

const pc_error *run_completion(const pc_completion *completions, size_t count, const pc_typed *typed, bool prompt, pc_text of, pc_text argument,
                               pc_suggested *suggested) {
        for (size_t i = 0; i < count; i++) {
        const pc_completion *completion = &completions[i];
        const char *name = prompt ? completion->prompt : completion->uri;
        if (name == NULL || !pc_is(of, name)) continue;
        if (!pc_is(argument, completion->argument)) continue;
        if (completion->suggest != NULL) return completion->suggest(typed, suggested);
        pc_suggest_matching(suggested, typed, completion->words);
        return NULL;
    }
    return NULL;
}

pc_text pc_other(const pc_typed *typed, const char *name) {
    for (size_t i = 0; i < typed->others_count; i++) {
        if (pc_is(typed->others[i].name, name)) return typed->others[i].value;
    }
    return PC_NONE;
}

void pc_suggest(pc_suggested *suggested, pc_text value) {
    suggested->values = pc_one_more(suggested->values, suggested->count, sizeof value);
    suggested->values[suggested->count++] = value;
}

void pc_suggest_matching(pc_suggested *suggested, const pc_typed *typed, const char *const *words) {
    pc_text start = pc_upper(typed->value);
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        pc_text word = pc_upper(pc_of(words[i]));
        bool begins = word.length >= start.length && (start.length == 0 || memcmp(word.at, start.at, start.length) == 0);
        if (begins) pc_suggest(suggested, pc_of(words[i]));
    }
}
