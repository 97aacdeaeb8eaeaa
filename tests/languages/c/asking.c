/* Questions to the user and the model. */
#include "polyglot.h"

typedef struct {
    pc_text name, email;
    int64_t pieces;
    int size;
    bool gift;
    pc_text note;
} ordered;
static const char *const sizes[] = {"small", "large", NULL};
static const pc_field order_form[] = {
    {PC_TEXT(ordered, name), .title = "Name", .about = "For whom.", PC_FROM(1), PC_UPTO(40)},
    {PC_TEXT(ordered, email), .format = "email"},
    {PC_INTEGER(ordered, pieces), PC_FROM(1), PC_UPTO(9), PC_ELSE_NUMBER(1)},
    {PC_CHOICE(ordered, size, sizes), PC_ELSE_TEXT("small")},
    {PC_TRUTH(ordered, gift)},
    {PC_TEXT(ordered, note), PC_OPTIONAL},
    PC_END,
};

const pc_error *order(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    ordered form;
    pc_answer answer;
    PC_TRY(pc_ask_form("order", pc_of("What do you want?"), order_form, &form, &answer));
    if (answer != PC_ACCEPTED) {
        pc_say(result, pc_of(answer == PC_CLOSED ? "closed" : "declined"));
        return NULL;
    }
    pc_text note = pc_or(form.note, "nothing");
    pc_say(result, pc_format("%d %s for %.*s <%.*s>, gift: %s, note: %.*s", (int)form.pieces, sizes[form.size], PC_ARG(form.name),
                             PC_ARG(form.email), form.gift ? "true" : "false", PC_ARG(note)));
    return NULL;
}

const pc_error *confirm(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    PC_TRY(pc_confirm("sure", pc_of("Really?")));
    pc_say(result, pc_of("confirmed"));
    return NULL;
}

const pc_field complete_arguments[] = {{PC_TEXT(asking, question)}, PC_END};

const pc_error *complete(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const asking *asked = arguments;
    pc_sample how = {
        .key = "model",
        .system_prompt = "Answer in one word.",
        .max_tokens = 50,
        .temperature = {true, 0.5},
        .stop_at = "\n",
        .prefer_model = "small",
        .purpose = "to know",
    };
    pc_sampled answer;
    PC_TRY(pc_ask_model(&how, asked->question, &answer));
    pc_say(result, pc_format("%.*s by %.*s, %.*s", PC_ARG(answer.text), PC_ARG(answer.model), PC_ARG(pc_or(answer.stop_reason, "nothing"))));
    return NULL;
}
