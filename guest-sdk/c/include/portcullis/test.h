/* A host for tests of plugins, on the machine itself. It answers from a table, and notes a line for everything that a tool does.
 *
 *     static const pc_reply replies[] = {{PC_ON_FORM, .of = "order", .json = "{\"name\":\"Ada\"}"}, {PC_ON_MODEL, .text = "Oslo"}};
 *     pc_test_begin(replies, 2);
 *     const pc_error *error = pc_test_tool("book", "{\"nights\":2}", &result);
 *     pc_text noted = pc_test_noted();
 *
 * A reply is used once, the first one that fits first. What has no reply is refused as the real host does it: a question is not
 * supported, a request not granted. Values that are kept, messages and checkpoints are replies, too. */
#ifndef PORTCULLIS_TEST_H
#define PORTCULLIS_TEST_H

#include "portcullis.h"

typedef enum {
    PC_ON_FORM,       /* `of` is the key of the question; `json` what was filled in, or `answer` */
    PC_ON_URL,        /* as a form, without `json` */
    PC_ON_MODEL,      /* as a form; `text` is what the model says; or it asks for the tool `uses`, with `json` */
    PC_ON_ROOTS,      /* as a form; `text` is a URI. There is one root, or none without a text */
    PC_ON_TOOL,       /* `of` is the name of the agent's tool; `json` its structured content, or `text` */
    PC_ON_HTTP,       /* `of` is such as `GET https://example.com/v1`; `status` (0: 200), `type`, and `text` as the body */
    PC_ON_CONNECTION, /* `of` is the account, which is connected; as PC_ON_HTTP */
    PC_ON_MESSAGE,    /* `text` is a message to the call */
    PC_ON_CHECKPOINT, /* `text` is what was saved by an earlier run */
    PC_ON_STATE,      /* `of` is a key, `text` the value that is kept */
} pc_on;

typedef struct pc_reply {
    pc_on on;
    const char *of; /* NULL: whatever it is, but for PC_ON_STATE */
    const char *text, *json, *type, *uses;
    pc_answer answer;
    int status;
    const pc_error *error; /* it fails instead, by pc_failed and the like */
} pc_reply;

/* Forgets all that was before. */
void pc_test_begin(const pc_reply *replies, size_t count);

/* What happened since, a line each:
 *
 *     chunk TEXT                  progress DONE of TOTAL: MESSAGE     log MESSAGE
 *     form KEY: MESSAGE SCHEMA    url KEY: MESSAGE ADDRESS            connect KEY: MESSAGE ACCOUNT
 *     model KEY: LAST MESSAGE     roots KEY                           tool NAME ARGUMENTS
 *     METHOD URL BODY             ACCOUNT: METHOD PATH BODY           save STATE
 *     set KEY VALUE               remove KEY                          event NAME PAYLOAD
 *     publish PATH BODY           publish-more PATH BODY              unpublish PATH
 *     publish-prompt NAME         unpublish-prompt NAME
 *
 * A question without a key has `-` in its place. */
pc_text pc_test_noted(void);
/* The replies that nobody has asked for. */
size_t pc_test_unused(void);
/* The output of the call is not read any more, as when it is cancelled. */
void pc_test_cancel(void);

/* Calls what the plugin offers. The host of a real call has checked the arguments against the schema before. */
#define pc_test_tool(name, json, result) pc_test_tool_of(pc_tools, pc_tools_count, name, json, result)
#define pc_test_resource(uri, found) pc_test_resource_of(pc_resources, pc_resources_count, uri, found)
#define pc_test_prompt(name, json, said) pc_test_prompt_of(pc_prompts, pc_prompts_count, name, json, said)
/* `prompt` is the name of a prompt, or NULL; `uri` a pattern, or NULL. */
#define pc_test_complete(prompt, uri, argument, value, suggested) \
    pc_test_complete_of(pc_completions, pc_completions_count, prompt, uri, argument, value, suggested)

const pc_error *pc_test_tool_of(const pc_tool *tools, size_t count, const char *name, const char *json, pc_result *result);
const pc_error *pc_test_resource_of(const pc_resource *resources, size_t count, const char *uri, pc_found *found);
const pc_error *pc_test_prompt_of(const pc_prompt *prompts, size_t count, const char *name, const char *json, pc_said *said);
const pc_error *pc_test_complete_of(const pc_completion *completions, size_t count, const char *prompt, const char *uri, const char *argument,
                                    const char *value, pc_suggested *suggested);

#endif
