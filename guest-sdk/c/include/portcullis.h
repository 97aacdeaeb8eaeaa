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

/* -- questions -------------------------------------------------------------------------------------------------------- */

typedef enum { PC_ACCEPTED, PC_REFUSED, PC_CLOSED } pc_answer;

/* Asks the user to fill in a form. `key` names the question, and may be NULL. If it was accepted, `record` is filled. */
const pc_error *pc_ask_form(const char *key, pc_text message, const pc_field *fields, void *record, pc_answer *answer);
/* Success only after a yes. */
const pc_error *pc_confirm(const char *key, pc_text message);

typedef struct pc_sample {
    const char *key, *system_prompt, *purpose;
    uint32_t max_tokens; /* 0: 1000 */
    pc_bound temperature;
    const char *stop_at, *prefer_model; /* one each, or NULL */
} pc_sample;

typedef struct pc_sampled {
    pc_text text, model;
    pc_text stop_reason; /* none if it is not known */
} pc_sampled;

/* Asks the client's model to continue from the user's message. */
const pc_error *pc_ask_model(const pc_sample *how, pc_text message, pc_sampled *answer);

/* -- others ----------------------------------------------------------------------------------------------------------- */

typedef struct pc_agent_options {
    uint64_t timeout_ms; /* 0: as long as the call may take */
    const char *purpose;
    bool chunks; /* forwards the tool's chunks */
} pc_agent_options;

typedef struct pc_agent_result {
    pc_content *content;
    size_t count;
    pc_text structured; /* JSON, if there is any */
    bool is_private;
    pc_text edited; /* the arguments it ran with, if they were changed */
} pc_agent_result;

/* Calls a tool of the agent's side with an object of arguments. `options` may be NULL. */
const pc_error *pc_call_tool(const char *name, const pc_json *arguments, const pc_agent_options *options, pc_agent_result *result);
/* Its structured content; or its text, as JSON if it is any. */
const pc_error *pc_agent_value(const pc_agent_result *result, pc_json *value);

typedef struct pc_entry {
    bool found;
    pc_text value;
    uint64_t version;
} pc_entry;

const pc_error *pc_state_get(pc_text key, pc_entry *entry);
const pc_error *pc_state_set(pc_text key, pc_text value);
/* Only if the value still has this version; NULL: if there is none. Otherwise an error with the cause PC_CONFLICT. */
const pc_error *pc_state_swap(pc_text key, const uint64_t *version, pc_text value);
/* Changes a value, safely beside other calls: `change` runs again if another was first. `old` is none if there is none. */
typedef const pc_error *(*pc_change)(pc_text old, void *with, pc_text *changed);
const pc_error *pc_state_update(pc_text key, pc_change change, void *with, pc_text *changed);
const pc_error *pc_state_remove(pc_text key, bool *was_there);
/* All keys that begin with this, in order. */
const pc_error *pc_state_keys(pc_text prefix, pc_text **keys, size_t *count);

typedef struct pc_header {
    pc_text name, value;
} pc_header;

/* A request to another server that the operator granted. */
typedef struct pc_request {
    const char *method; /* NULL: GET, or POST with a body */
    pc_text url;
    const char *content_type;
    const pc_header *headers;
    size_t headers_count;
    pc_text body;
    uint64_t timeout_ms; /* 0: that of the grant */
    size_t most; /* bytes of the answer that are read; 0: 4 MiB */
} pc_request;

typedef struct pc_response {
    int status;
    pc_header *headers;
    size_t headers_count;
    pc_text body;
    bool truncated;
} pc_response;

const pc_error *pc_send(const pc_request *request, pc_response *response);
/* An error if the status is none of success. */
const pc_error *pc_status(const pc_response *response);
/* The first header of this name, in any case; none if there is none. */
pc_text pc_header_of(const pc_response *response, const char *name);

#endif
