/* What the plugin offers. */
#include "polyglot.h"

PC_TOOLS(
    {.name = "greet", .title = "Greet", .about = "Greets somebody.", PC_ARGUMENTS(greeting, greet_arguments), .call = greet,
     .read_only = PC_YES, .idempotent = PC_YES, .open_world = PC_NO},
    {.name = "measure", .about = "Measures points.", PC_ARGUMENTS(measuring, measure_arguments), .returns = measured_fields, .call = measure,
     .read_only = PC_YES},
    {.name = "contents", .about = "Returns content of every kind.", .call = contents},
    {.name = "context", .about = "Says what the call is told of itself.", .call = context},
    {.name = "stream", .about = "Sends parts while it runs.", PC_ARGUMENTS(counted, stream_arguments), .call = stream},
    {.name = "fail", .about = "Fails in the way that is asked for.", PC_ARGUMENTS(failing, fail_arguments), .call = fail},
    {.name = "order", .about = "Takes an order.", .call = order},
    {.name = "confirm", .about = "Asks for a yes.", .call = confirm, .destructive = PC_YES},
    {.name = "complete", .about = "Asks the model.", PC_ARGUMENTS(asking, complete_arguments), .call = complete},
    {.name = "delegate", .about = "Calls a tool of the agent.", PC_ARGUMENTS(delegating, delegate_arguments), .call = delegate},
    {.name = "keep", .about = "Keeps values.", PC_ARGUMENTS(keeping, keep_arguments), .call = keep},
    {.name = "fetch", .about = "Fetches a page.", PC_ARGUMENTS(fetching, fetch_arguments), .returns = fetched_fields, .call = fetch,
     .open_world = PC_YES},
    {.name = "march", .about = "Marches as it is told.", PC_ARGUMENTS(marching, march_arguments), .call = march, .execution = PC_TASK_ONLY},
    {.name = "listen", .about = "Listens for a moment.", .call = listen},
    {.name = "gather", .about = "Calls tools of the agent at once.", PC_ARGUMENTS(gathering, gather_arguments), .call = gather},
    {.name = "explain", .about = "Explains a word, with a tool for the model.", PC_ARGUMENTS(explaining, explain_arguments), .call = explain},
    {.name = "interview", .about = "Asks several questions at once.", .call = interview},
    {.name = "visit", .about = "Asks to open a page.", .call = visit},
    {.name = "account", .about = "Uses an account.", PC_ARGUMENTS(fetching, account_arguments), .call = account},
    {.name = "leave", .about = "Leaves something behind.", PC_ARGUMENTS(leaving, leave_arguments), .call = leave},
    {.name = "announce", .about = "Announces an event.", PC_ARGUMENTS(announcing, announce_arguments), .call = announce},
    {.name = "budget", .about = "Says whether anything is left.", .call = budget},
    {.name = "files", .about = "Uses files.", PC_ARGUMENTS(leaving, files_arguments), .call = files},
    {.name = "variable", .about = "Reads a variable.", PC_ARGUMENTS(named, variable_arguments), .call = variable},
    {.name = "reserve", .about = "Reserves a place.", PC_ARGUMENTS(named, reserve_arguments), .call = reserve, .execution = PC_MAY_RUN_LONG}
);

static const pc_error *about(const pc_call *call, pc_text uri, const pc_text *variables, pc_found *found) {
    (void)call, (void)variables;
    pc_found_text(found, uri, pc_of("One plugin, many languages."));
    return NULL;
}

typedef struct { pc_text word; int64_t length; } word;
static const pc_field word_fields[] = {{PC_TEXT(word, word)}, {PC_INTEGER(word, length)}, PC_END};

static const pc_error *spell(const pc_call *call, pc_text uri, const pc_text *variables, pc_found *found) {
    (void)call;
    word spelled = {variables[0], (int64_t)pc_characters(variables[0])};
    if (pc_is(spelled.word, "broken")) return pc_failed("this word is broken");
    found->missing = pc_is(spelled.word, "missing");
    pc_found_text(found, uri, pc_record_write(word_fields, &spelled));
    return NULL;
}

PC_RESOURCES(
    {.uri = "polyglot://about", .name = "about", .about = "What this plugin is.", .mime_type = "text/plain", .read = about},
    {.uri = "polyglot://word/{word}", .name = "word", .about = "A word.", .mime_type = "application/json", .read = spell}
);

typedef struct { pc_text language, focus; } review;
static const pc_field review_arguments[] = {
    {PC_TEXT(review, language), .about = "Such as `rust`."},
    {PC_TEXT(review, focus), PC_OPTIONAL},
    PC_END,
};

static const pc_error *ask_for_review(const pc_call *call, const void *arguments, pc_said *said) {
    (void)call;
    const review *of = arguments;
    pc_text focus = pc_or(of->focus, "everything");
    pc_user_says(said, pc_format("Review this %.*s, above all %.*s.", PC_ARG(of->language), PC_ARG(focus)));
    pc_assistant_says(said, pc_of("Show it to me."));
    return NULL;
}

PC_PROMPTS({.name = "review", .title = "Review", .about = "Reviews code.", PC_ARGUMENTS(review, review_arguments), .get = ask_for_review});

static const char *const words[] = {"alpha", "Alps", "beta", NULL};
static const char *const languages[] = {"go", "python", "ruby", "rust", NULL};

static const pc_error *focuses(const pc_typed *typed, pc_suggested *suggested) {
    static const char *const of_rust[] = {"borrowing", "speed", NULL}, *const of_others[] = {"speed", "style", NULL};
    pc_suggest_matching(suggested, typed, pc_is(pc_other(typed, "language"), "rust") ? of_rust : of_others);
    return NULL;
}

PC_COMPLETIONS(
    {.prompt = "review", .argument = "language", .words = languages},
    {.prompt = "review", .argument = "focus", .suggest = focuses},
    {.uri = "polyglot://word/{word}", .argument = "word", .words = words}
);
