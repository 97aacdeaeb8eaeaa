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

typedef struct { pc_text word; } looked_up;
static const pc_field look_up_arguments[] = {{PC_TEXT(looked_up, word), .about = "Which word."}, PC_END};

const pc_field explain_arguments[] = {{PC_TEXT(explaining, word)}, PC_END};

const pc_error *explain(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const explaining *asked = arguments;
    static const pc_sample_tool look_up = {"look_up", "Looks a word up.", look_up_arguments};
    pc_sample how = {.max_tokens = 50, .tools = &look_up, .tools_count = 1, .tool_choice = PC_TOOLS_AUTO};
    pc_talk talk = {0};
    pc_sampled answer;
    size_t uses = 0;
    pc_talk_user(&talk, pc_words(pc_format("Explain %.*s.", PC_ARG(asked->word))));
    for (;;) {
        how.key = pc_format("after %zu", uses).at;
        PC_TRY(pc_ask_talk(&how, &talk, &answer));
        if (answer.uses_count == 0) {
            pc_say(result, pc_format("%.*s, after %zu", PC_ARG(answer.text), uses));
            return NULL;
        }
        for (size_t i = 0; i < answer.uses_count; i++) {
            looked_up wanted;
            PC_TRY(pc_use_read(&answer.uses[i], look_up_arguments, &wanted));
            pc_text letters = pc_format("%.*s: %zu letters", PC_ARG(wanted.word), pc_characters(wanted.word));
            if (pc_is(wanted.word, "missing")) pc_talk_failure(&talk, &answer.uses[i], pc_of("there is no such word"));
            else pc_talk_outcome(&talk, &answer.uses[i], pc_words(letters));
        }
        uses += answer.uses_count;
    }
}

typedef struct { pc_text name; } person;
static const pc_field person_form[] = {{PC_TEXT(person, name)}, PC_END};

const pc_error *interview(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    person who;
    pc_sample short_wish = {.max_tokens = 20};
    pc_question questions[] = {
        {PC_QUESTION_FORM, .key = "who", .message = pc_of("Who are you?"), .fields = person_form, .record = &who},
        {PC_QUESTION_FORM, .key = "sure", .message = pc_of("Really?"), .fields = pc_confirmation},
        {PC_QUESTION_MODEL, .key = "wish", .message = pc_of("Write a wish."), .how = &short_wish},
        {PC_QUESTION_ROOTS, .key = "where"},
    };
    PC_TRY(pc_ask_many(questions, 4));
    pc_text name = questions[0].answer == PC_ACCEPTED ? who.name : pc_of(questions[0].answer == PC_CLOSED ? "closed" : "declined");
    bool is_sure = questions[1].answer == PC_ACCEPTED;
    pc_text root = questions[3].roots_count > 0 ? questions[3].roots[0].uri : pc_of("nowhere");
    pc_say(result, pc_format("%.*s, %s, %.*s, %.*s", PC_ARG(name), is_sure ? "true" : "false", PC_ARG(questions[2].sampled.text), PC_ARG(root)));
    return NULL;
}

const pc_error *visit(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    static const char *const said[] = {[PC_ACCEPTED] = "opened", [PC_REFUSED] = "declined", [PC_CLOSED] = "closed"};
    pc_answer answer;
    PC_TRY(pc_open_url("page", pc_of("Look at this."), pc_of("https://example.com/page"), &answer));
    pc_say(result, pc_of(said[answer]));
    return NULL;
}
