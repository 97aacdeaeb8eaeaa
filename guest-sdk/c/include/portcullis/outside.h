/* The agent's tools, kept values, other servers, accounts, and what a call publishes. Part of portcullis.h. */
#ifndef PORTCULLIS_OUTSIDE_H
#define PORTCULLIS_OUTSIDE_H

#include "portcullis.h"

/* -- the agent ----------------------------------------------------------------------------------------------------------- */

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

/* One of several calls, and what came of it: a result, or an error. */
typedef struct pc_agent_call {
    const char *name;
    const pc_json *arguments;
    pc_agent_options options;
    pc_agent_result result;
    const pc_error *error;
} pc_agent_call;

/* Makes several calls at once, as many at a time as the operator allows, and waits for all. A failure does not stop the others;
 * the rest of the fuel is split evenly among them. */
void pc_call_tools(pc_agent_call *calls, size_t count);

/* A tool that pc_call_tool can reach now. */
typedef struct pc_agent_tool {
    pc_text name, title, about, input_schema, output_schema; /* JSON Schema; the last is none without a structured result */
} pc_agent_tool;

void pc_agent_tools(pc_agent_tool **tools, size_t *count);

/* -- values that are kept ---------------------------------------------------------------------------------------------- */

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
/* `was_there`, which may be NULL, becomes whether there was a value. */
const pc_error *pc_state_remove(pc_text key, bool *was_there);
/* All keys that begin with this, in order. */
const pc_error *pc_state_keys(pc_text prefix, pc_text **keys, size_t *count);

/* -- other servers ----------------------------------------------------------------------------------------------------- */

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

/* Whether the user of the call has connected an account. */
const pc_error *pc_connected(const char *connection, bool *connected);
/* Sends a request with the account's credentials, which the host adds. The URL is path and query, below the address of the
 * connection; it has no timeout of its own. An error with the cause PC_NOT_CONNECTED calls for pc_connect. */
const pc_error *pc_send_as(const char *connection, const pc_request *request, pc_response *response);

/* -- what a call publishes --------------------------------------------------------------------------------------------- */

/* A resource of the call's user. It stays for a day, or until the host restarts. */
typedef struct pc_publication {
    pc_text path; /* segments of `[A-Za-z0-9._-]` with `/` between them */
    pc_text body;
    bool is_bytes;
    const char *title, *about, *mime_type;
    bool for_user, for_assistant; /* neither: both */
    pc_bound priority;            /* from 0 to 1 */
    uint64_t ttl_ms;              /* less than a day; 0: a day */
} pc_publication;

/* Creates or replaces it. `uri`, which may be NULL, becomes its URI. */
const pc_error *pc_publish(const pc_publication *publication, pc_text *uri);
/* Appends the body to what is there, or creates it. Only pc_publish sets a title and the like. */
const pc_error *pc_publish_more(const pc_publication *publication, pc_text *uri);
const pc_error *pc_unpublish(pc_text path);

/* A prompt of the call's user, who sees it as `<plugin>__<name>`. In its messages, which are texts, `{{name}}` becomes the value
 * of an argument. */
typedef struct pc_published_prompt {
    const char *name, *title, *about;
    const char *const *arguments; /* NULL at the end, or NULL */
    pc_said messages;
    uint64_t ttl_ms; /* as above */
} pc_published_prompt;

const pc_error *pc_publish_prompt(const pc_published_prompt *prompt);
const pc_error *pc_unpublish_prompt(const char *name);

/* Adds an event to the user's inbox. Its name is of words with dots between them, its payload JSON. If one with the same name and
 * `once`, which may be NULL, came within a day, nothing is added. `added` may be NULL. */
const pc_error *pc_event(const char *name, const pc_json *payload, const char *once, bool *added);

#endif
