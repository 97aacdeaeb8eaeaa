/* What the SDK asks of a host, beside what portcullis.h declares: the real host is in `..`, that of tests in `../test`. And what a
 * host asks of the plugin. */
#ifndef PORTCULLIS_HOST_H
#define PORTCULLIS_HOST_H

#include "portcullis.h"

const pc_error *cancelled(const char *sentence);
const pc_error *failed_because(pc_cause cause, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Asks one question, or several together, whose keys are set. `filled` becomes the JSON of accepted forms, `schemas` has theirs.
 * The other answers are in the questions. */
const pc_error *host_ask(pc_question *questions, size_t count, bool together, const pc_text *schemas, pc_text *filled);

/* Calls that the tables answer. What has no completion gets no suggestions. */
const pc_error *run_tool(const pc_tool *tools, size_t count, const pc_call *call, pc_text name, pc_text arguments, pc_result *result);
const pc_error *run_resource(const pc_resource *resources, size_t count, const pc_call *call, pc_text uri, pc_found *found);
const pc_error *run_prompt(const pc_prompt *prompts, size_t count, const pc_call *call, pc_text name, const pc_json *arguments, pc_said *said);
const pc_error *run_completion(const pc_completion *completions, size_t count, const pc_typed *typed, bool prompt, pc_text of, pc_text argument,
                               pc_suggested *suggested);

#endif
