/* Resources, prompts and events that a call leaves behind. */
#include "polyglot.h"

enum { PUT, APPEND, REMOVE, PROMPT, FORGET };
static const char *const traces[] = {"put", "append", "remove", "prompt", "forget", NULL};
const pc_field leave_arguments[] = {
    {PC_CHOICE(leaving, action, traces)},
    {PC_TEXT(leaving, path)},
    {PC_TEXT(leaving, text), PC_OPTIONAL},
    PC_END,
};

const pc_error *leave(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const leaving *asked = arguments;
    static const char *const line[] = {"line", NULL};
    static const uint64_t minute = 60000;
    pc_text said = PC_NONE, text = pc_or(asked->text, "");
    const char *name = pc_format("%.*s", PC_ARG(asked->path)).at;
    switch (asked->action) {
        case PUT: {
            pc_publication left = {
                .path = asked->path,
                .body = text,
                .title = "Left",
                .about = "What was left.",
                .mime_type = "text/markdown",
                .for_user = true,
                .priority = {true, 0.5},
                .ttl_ms = minute,
            };
            PC_TRY(pc_publish(&left, &said));
            break;
        }
        case APPEND: {
            pc_publication more = {.path = asked->path, .body = text};
            PC_TRY(pc_publish_more(&more, &said));
            break;
        }
        case REMOVE:
            PC_TRY(pc_unpublish(asked->path));
            said = pc_of("removed");
            break;
        case PROMPT: {
            pc_published_prompt prompt = {.name = name, .title = "Left", .about = "What was left.", .arguments = line, .ttl_ms = minute};
            pc_user_says(&prompt.messages, text);
            pc_assistant_says(&prompt.messages, pc_of("Yes."));
            PC_TRY(pc_publish_prompt(&prompt));
            said = pc_of("left");
            break;
        }
        default:
            PC_TRY(pc_unpublish_prompt(name));
            said = pc_of("forgotten");
    }
    pc_say(result, said);
    return NULL;
}

const pc_field announce_arguments[] = {
    {PC_TEXT(announcing, name)},
    {PC_TEXT(announcing, text)},
    {PC_TEXT(announcing, key), .about = "Announced only once.", PC_OPTIONAL},
    PC_END,
};

const pc_error *announce(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const announcing *asked = arguments;
    pc_json payload = pc_json_object();
    pc_set(&payload, "text", pc_json_of_text(asked->text));
    const char *name = pc_format("%.*s", PC_ARG(asked->name)).at;
    const char *once = asked->key.at == NULL ? NULL : pc_format("%.*s", PC_ARG(asked->key)).at;
    bool added;
    PC_TRY(pc_event(name, &payload, once, &added));
    pc_say(result, pc_of(added ? "announced" : "announced before"));
    return NULL;
}
