/* Questions to the client of a call: its user, its model, its workspace. Part of portcullis.h.
 *
 * `key` names a question for the client, is unique within the call, and may be NULL. Waiting costs no fuel. */
#ifndef PORTCULLIS_ASKING_H
#define PORTCULLIS_ASKING_H

#include "portcullis.h"

/* What the client can answer; anything else is an error of the kind PC_UNSUPPORTED. */
typedef struct pc_abilities {
    bool form, url, sample, sample_tools, roots;
} pc_abilities;

pc_abilities pc_supported(void);

typedef enum { PC_ACCEPTED, PC_REFUSED, PC_CLOSED } pc_answer;

/* Asks the user to fill in a form. If it was accepted, `record` is filled. */
const pc_error *pc_ask_form(const char *key, pc_text message, const pc_field *fields, void *record, pc_answer *answer);
/* Success only after a yes. */
const pc_error *pc_confirm(const char *key, pc_text message);
/* The form of a confirmation, to be one of several questions. It has no fields and no record: clients show two buttons, and
 * PC_ACCEPTED is a yes. */
extern const pc_field pc_confirmation[];

/* Asks the user to open a page, whose host must be granted. The answer is whether the user agreed, not what happened there. */
const pc_error *pc_open_url(const char *key, pc_text message, pc_text address, pc_answer *answer);
/* Asks the user to connect an account, so that pc_send_as can use it. */
const pc_error *pc_connect(const char *key, pc_text message, const char *connection, pc_answer *answer);
/* NULL after PC_ACCEPTED; otherwise an error, which ends the tool. */
const pc_error *pc_or_stop(pc_answer answer);

/* A folder or repository that the user works in. */
typedef struct pc_root {
    pc_text uri, name; /* the name may be none */
} pc_root;

const pc_error *pc_ask_roots(const char *key, pc_root **roots, size_t *count);

/* -- models ----------------------------------------------------------------------------------------------------------- */

/* A tool that a model asks for, and the object of arguments that it chose. Models make mistakes. */
typedef struct pc_tool_use {
    pc_text id, name, input;
} pc_tool_use;

/* Reads the input as a struct. */
const pc_error *pc_use_read(const pc_tool_use *use, const pc_field *fields, void *record);

typedef enum { PC_PART_CONTENT, PC_PART_TOOL_USE, PC_PART_OUTCOME } pc_part_kind;

/* A part of a turn: a text, an image or a sound; a tool that the model asks for; or what came of one. */
typedef struct pc_part {
    pc_part_kind kind;
    pc_content content; /* of an outcome: what is in it */
    pc_tool_use use;    /* of an outcome: its id */
    bool is_error;      /* of an outcome */
} pc_part;

typedef struct pc_turn {
    bool by_assistant;
    pc_part *parts;
    size_t count;
} pc_turn;

/* A conversation with a model. It begins empty: `pc_talk talk = {0};`. */
typedef struct pc_talk {
    pc_turn *turns;
    size_t count;
} pc_talk;

void pc_talk_user(pc_talk *talk, pc_content content);
void pc_talk_assistant(pc_talk *talk, pc_content content);
/* What came of a tool that the model has asked for. */
void pc_talk_outcome(pc_talk *talk, const pc_tool_use *use, pc_content content);
void pc_talk_failure(pc_talk *talk, const pc_tool_use *use, pc_text why);

/* A tool that the model may ask for; the plugin runs it. */
typedef struct pc_sample_tool {
    const char *name, *about;
    const pc_field *arguments; /* NULL: none */
} pc_sample_tool;

typedef enum { PC_TOOLS_UNSET, PC_TOOLS_AUTO, PC_TOOLS_REQUIRED, PC_TOOLS_NONE } pc_tool_choice;

typedef struct pc_sample {
    const char *key, *system_prompt, *purpose;
    uint32_t max_tokens; /* 0: 1000 */
    pc_bound temperature;
    const char *stop_at, *prefer_model; /* one each, or NULL */
    pc_bound cost, speed, intelligence; /* how much each matters, from 0 to 1 */
    const pc_sample_tool *tools;        /* for clients with `sample_tools` */
    size_t tools_count;
    pc_tool_choice tool_choice;
} pc_sample;

typedef struct pc_sampled {
    pc_text text, model;
    pc_text stop_reason; /* none if it is not known */
    pc_tool_use *uses;   /* the tools that the model asks for */
    size_t uses_count;
    pc_turn turn; /* all of it */
} pc_sampled;

/* Asks the client's model to continue from the user's message. */
const pc_error *pc_ask_model(const pc_sample *how, pc_text message, pc_sampled *answer);
/* Asks it to continue a conversation. Its answer becomes the next turn. */
const pc_error *pc_ask_talk(const pc_sample *how, pc_talk *talk, pc_sampled *answer);

/* -- several at once -------------------------------------------------------------------------------------------------- */

typedef enum { PC_QUESTION_FORM, PC_QUESTION_URL, PC_QUESTION_MODEL, PC_QUESTION_ROOTS } pc_question_kind;

/* One of several questions, and its answer. */
typedef struct pc_question {
    pc_question_kind kind;
    const char *key;
    pc_text message; /* of a form or page; to the model, unless there is a talk */
    const pc_field *fields; /* of a form */
    void *record;
    pc_text address; /* of a page; or the account to connect: */
    const char *connection;
    const pc_sample *how; /* to the model; its key counts if this one has none */
    pc_talk *talk;
    /* What came of it. */
    pc_answer answer; /* of a form or page */
    pc_sampled sampled;
    pc_root *roots;
    size_t roots_count;
} pc_question;

/* Asks all, and waits for all answers. An error if one has none. */
const pc_error *pc_ask_many(pc_question *questions, size_t count);

#endif
