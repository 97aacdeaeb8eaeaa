/* Portcullis plugins in C. A plugin is tables of tools, resources and prompts; README.md is a tutorial.
 *
 * Memory: see portcullis/data.h. What a function here returns or fills in stays valid until the call ends, and so does what
 * it is given until then: nothing is copied, and nothing is freed. Errors are returned, NULL is success; PC_TRY ends a tool
 * with the error of what it called, as what it is: refused, over a limit, not supported, cancelled or failed. */
#ifndef PORTCULLIS_H
#define PORTCULLIS_H

#include "portcullis/data.h"

/* -- content ---------------------------------------------------------------------------------------------------------- */

typedef enum { PC_CONTENT_TEXT, PC_CONTENT_IMAGE, PC_CONTENT_AUDIO, PC_CONTENT_LINK, PC_CONTENT_RESOURCE } pc_content_kind;

/* A piece of content. The functions below make one; the other members may be set afterwards. */
typedef struct pc_content {
    pc_content_kind kind;
    pc_text data; /* text, or bytes */
    bool is_bytes; /* of a resource: its data are bytes */
    pc_text mime_type, uri, name, title, description;
    uint64_t size; /* of what a link leads to; 0 if unknown */
    bool for_user, for_assistant; /* neither: both */
    pc_bound priority; /* from 0 to 1 */
    pc_text last_modified; /* RFC 3339 */
} pc_content;

pc_content pc_words(pc_text text);
pc_content pc_image(const char *mime_type, pc_text bytes);
pc_content pc_audio(const char *mime_type, pc_text bytes);
pc_content pc_link(const char *uri, const char *name);
pc_content pc_resource_text(pc_text uri, const char *mime_type, pc_text text);
pc_content pc_resource_bytes(pc_text uri, const char *mime_type, pc_text bytes);

/* The texts of some content, a line each. */
pc_text pc_all_text(const pc_content *content, size_t count);

/* -- tools ------------------------------------------------------------------------------------------------------------ */

/* What a call is told of itself. */
typedef struct pc_call {
    pc_text id, principal;
    pc_text correlation_id, idempotency_key, traceparent; /* none if there is none */
    uint64_t deadline_ms; /* from the start of the call */
} pc_call;

/* What a tool returns. It begins empty. */
typedef struct pc_result {
    pc_content *content;
    size_t count;
    pc_text structured; /* JSON, if there is any */
    bool is_error;      /* the tool ran and reports a failure, which its content tells */
} pc_result;

void pc_add(pc_result *result, pc_content content);
void pc_say(pc_result *result, pc_text text);
/* A record as structured content, and the same as text. */
void pc_return(pc_result *result, const pc_field *fields, const void *record);

typedef enum { PC_UNSET, PC_YES, PC_NO } pc_hint;
typedef enum { PC_INLINE, PC_MAY_RUN_LONG, PC_TASK_ONLY } pc_execution;

/* A tool. Its function gets its arguments as the struct that `arguments` describes. */
typedef struct pc_tool {
    const char *name, *title, *about; /* `about` is required */
    const pc_field *arguments;        /* NULL: none */
    size_t arguments_size;
    const pc_field *returns; /* of its structured result; NULL: none */
    const pc_error *(*call)(const pc_call *call, const void *arguments, pc_result *result);
    pc_hint read_only, destructive, idempotent, open_world;
    pc_execution execution;
} pc_tool;

#define PC_ARGUMENTS(type, described) .arguments = (described), .arguments_size = sizeof(type)

/* The plugin's tools, once: `PC_TOOLS({.name = "greet", ...}, {...});` */
#define PC_TOOLS(...)                       \
    const pc_tool pc_tools[] = {__VA_ARGS__}; \
    const size_t pc_tools_count = sizeof pc_tools / sizeof *pc_tools
extern const pc_tool pc_tools[];
extern const size_t pc_tools_count;

/* -- resources and prompts --------------------------------------------------------------------------------------------- */

/* What a resource's function has found. */
typedef struct pc_found {
    bool missing; /* there is no such resource */
    pc_content *content; /* resources */
    size_t count;
} pc_found;

typedef struct pc_resource {
    const char *uri;          /* or a pattern, `guide://city/{name}`: its variables match one or more characters but `/?#` */
    const char *name, *title, *about, *mime_type;
    /* `variables` has a decoded text for each variable of the pattern. */
    const pc_error *(*read)(const pc_call *call, pc_text uri, const pc_text *variables, pc_found *found);
} pc_resource;

/* Adds a resource with the URI, of the type in the table. */
void pc_found_text(pc_found *found, pc_text uri, pc_text text);
void pc_found_bytes(pc_found *found, pc_text uri, pc_text bytes);

#define PC_RESOURCES(...)                           \
    const pc_resource pc_resources[] = {__VA_ARGS__}; \
    const size_t pc_resources_count = sizeof pc_resources / sizeof *pc_resources
extern const pc_resource pc_resources[];
extern const size_t pc_resources_count;

typedef struct pc_message {
    bool by_assistant;
    pc_content content;
} pc_message;

typedef struct pc_said {
    pc_message *messages;
    size_t count;
} pc_said;

void pc_user_says(pc_said *said, pc_text text);
void pc_assistant_says(pc_said *said, pc_text text);

/* A prompt. Its arguments are texts, described as fields. */
typedef struct pc_prompt {
    const char *name, *title, *about;
    const pc_field *arguments;
    size_t arguments_size;
    const pc_error *(*get)(const pc_call *call, const void *arguments, pc_said *said);
} pc_prompt;

#define PC_PROMPTS(...)                         \
    const pc_prompt pc_prompts[] = {__VA_ARGS__}; \
    const size_t pc_prompts_count = sizeof pc_prompts / sizeof *pc_prompts
extern const pc_prompt pc_prompts[];
extern const size_t pc_prompts_count;

/* -- completions and effects in doubt ------------------------------------------------------------------------------------ */

/* Another argument, or a variable of a pattern, that is filled in already. */
typedef struct pc_filled {
    pc_text name, value;
} pc_filled;

/* What a user has typed of an argument so far. */
typedef struct pc_typed {
    const pc_call *call;
    pc_text value;
    const pc_filled *others;
    size_t others_count;
} pc_typed;

/* The value of another argument; none if it is not filled in yet. */
pc_text pc_other(const pc_typed *typed, const char *name);

/* What is suggested. A client gets the first 100. */
typedef struct pc_suggested {
    pc_text *values;
    size_t count;
} pc_suggested;

void pc_suggest(pc_suggested *suggested, pc_text value);
/* Those of the words that begin with what is typed, whatever the case of ASCII letters. NULL ends the words. */
void pc_suggest_matching(pc_suggested *suggested, const pc_typed *typed, const char *const *words);

/* Suggestions for an argument of a prompt, or for a variable of a pattern: words that begin with what is typed, or a function. */
typedef struct pc_completion {
    const char *prompt, *uri; /* the name of the prompt, or the pattern as in PC_RESOURCES */
    const char *argument;
    const char *const *words; /* NULL at the end */
    const pc_error *(*suggest)(const pc_typed *typed, pc_suggested *suggested);
} pc_completion;

#define PC_COMPLETIONS(...)                             \
    const pc_completion pc_completions[] = {__VA_ARGS__}; \
    const size_t pc_completions_count = sizeof pc_completions / sizeof *pc_completions
extern const pc_completion pc_completions[];
extern const size_t pc_completions_count;

typedef struct pc_header {
    pc_text name, value;
} pc_header;

typedef enum { PC_EFFECT_HTTP, PC_EFFECT_TOOL, PC_EFFECT_OTHER } pc_effect;

/* An effect of a call of which nobody knows whether it has happened, since the host ended meanwhile. */
typedef struct pc_doubt {
    const pc_call *call;
    pc_text tool, arguments; /* of the call: its tool, and JSON for pc_record_read */
    pc_text step, name;      /* of the effect: its number, and such as `http.handle` */
    pc_effect effect;
    pc_text method, url; /* of a request */
    const pc_header *headers;
    size_t headers_count;
    pc_text called, passed; /* the agent's tool, and its arguments as JSON */
} pc_doubt;

typedef enum { PC_UNKNOWN, PC_NOT_DONE, PC_DONE } pc_done;

/* What has become of it: nobody knows; it has not happened, so that the host does it now; or it has, and the call goes on with
 * this answer: of a request `status`, `headers` and `body` (at most 64 KiB), of an agent's tool `result`. */
typedef struct pc_verdict {
    pc_done done;
    int status;
    const pc_header *headers;
    size_t headers_count;
    pc_text body;
    pc_result result;
} pc_verdict;

/* The function that finds out, once: `PC_RECONCILE(find_out);`. It runs for at most ten seconds with what the plugin was granted,
 * and can neither call tools nor ask the client. */
#define PC_RECONCILE(function) pc_verdict (*const pc_reconcile)(const pc_doubt *doubt) = (function)
extern pc_verdict (*const pc_reconcile)(const pc_doubt *doubt);

/* -- while a tool runs ------------------------------------------------------------------------------------------------ */

/* Sends a chunk. `number`, which may be NULL, becomes its number. */
const pc_error *pc_emit(pc_text text, uint64_t *number);
const pc_error *pc_emit_content(const pc_content *content, size_t count, uint64_t *number);
/* `total` of 0 is unknown; `message` may be none. */
void pc_progress(double done, double total, pc_text message);
typedef enum { PC_DEBUG, PC_INFO, PC_NOTICE, PC_WARNING, PC_ERROR, PC_CRITICAL, PC_ALERT, PC_EMERGENCY } pc_level;
void pc_log(pc_level level, pc_text message);
uint64_t pc_deadline_left(void);
/* False if the call is not metered by fuel. */
bool pc_fuel_left(uint64_t *fuel);

/* The next message to the call, without waiting. False if there is none. */
bool pc_next_message(pc_text *message);
typedef enum { PC_MESSAGE, PC_ENDED, PC_TIMED_OUT } pc_received;
/* Waits for a message; `timeout_ms` of NULL is as long as the call may take. */
pc_received pc_receive(const uint64_t *timeout_ms, pc_text *message);

/* The state that was saved last, by this run of the call or an earlier one. Asked once, early. */
bool pc_restored(pc_text *state);
const pc_error *pc_save(pc_text state);

#include "portcullis/asking.h"
#include "portcullis/outside.h"

#endif
