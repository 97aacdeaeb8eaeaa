/* The host of tests: its table, its notes, and how it calls the plugin. */
#include "fake.h"

const pc_reply *replies_table;
static bool *used;
size_t replies_count;
static pc_text *notes;
static size_t notes_count;
bool is_gone;

void pc_test_begin(const pc_reply *replies, size_t count) {
    replies_table = replies;
    replies_count = count;
    used = pc_alloc_items(count, sizeof *used);
    notes = NULL;
    notes_count = 0;
    is_gone = false;
    begin_state();
}

void note(const char *format, ...) {
    va_list arguments;
    notes = pc_one_more(notes, notes_count, sizeof *notes);
    va_start(arguments, format);
    notes[notes_count++] = pc_formatted(format, arguments);
    va_end(arguments);
}

pc_text pc_test_noted(void) {
    return pc_join(notes, notes_count, "\n");
}

static size_t find(pc_on on, pc_text of, bool any) {
    for (size_t at = 0; at < replies_count; at++) {
        const pc_reply *reply = &replies_table[at];
        if (!used[at] && reply->on == on && (any || reply->of == NULL || pc_is(of, reply->of))) return at;
    }
    return replies_count;
}

const pc_reply *peek(pc_on on, pc_text of) {
    size_t at = find(on, of, of.at == NULL);
    return at == replies_count ? NULL : &replies_table[at];
}

const pc_reply *reply_for(pc_on on, pc_text of) {
    size_t at = find(on, of, false);
    if (at == replies_count) return NULL;
    used[at] = true;
    return &replies_table[at];
}

size_t pc_test_unused(void) {
    size_t unused = 0;
    /* What is kept is there, whether it is asked for or not. */
    for (size_t i = 0; i < replies_count; i++) unused += !used[i] && replies_table[i].on != PC_ON_STATE;
    return unused;
}

void pc_test_cancel(void) {
    is_gone = true;
}

static pc_call call_of_test(void) {
    return (pc_call){.id = pc_of("test"), .principal = pc_of("local"), .deadline_ms = 30000};
}

const pc_error *pc_test_tool_of(const pc_tool *tools, size_t count, const char *name, const char *json, pc_result *result) {
    pc_call call = call_of_test();
    *result = (pc_result){0};
    return run_tool(tools, count, &call, pc_of(name), pc_of(json == NULL ? "{}" : json), result);
}

const pc_error *pc_test_resource_of(const pc_resource *resources, size_t count, const char *uri, pc_found *found) {
    pc_call call = call_of_test();
    *found = (pc_found){0};
    return run_resource(resources, count, &call, pc_of(uri), found);
}

const pc_error *pc_test_prompt_of(const pc_prompt *prompts, size_t count, const char *name, const char *json, pc_said *said) {
    pc_call call = call_of_test();
    pc_json arguments;
    PC_TRY(pc_json_read(pc_of(json == NULL ? "{}" : json), &arguments));
    *said = (pc_said){0};
    return run_prompt(prompts, count, &call, pc_of(name), &arguments, said);
}

const pc_error *pc_test_complete_of(const pc_completion *completions, size_t count, const char *prompt, const char *uri, const char *argument,
                                    const char *value, pc_suggested *suggested) {
    pc_call call = call_of_test();
    pc_typed typed = {.call = &call, .value = pc_of(value)};
    *suggested = (pc_suggested){0};
    return run_completion(completions, count, &typed, prompt != NULL, pc_of(prompt != NULL ? prompt : uri), pc_of(argument), suggested);
}
