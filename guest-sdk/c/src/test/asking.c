/* What the host of tests answers to questions, and to calls of the agent's tools and other servers. */
#include "fake.h"

pc_abilities pc_supported(void) {
    bool model = peek(PC_ON_MODEL, PC_NONE) != NULL;
    return (pc_abilities){peek(PC_ON_FORM, PC_NONE) != NULL, peek(PC_ON_URL, PC_NONE) != NULL, model, model, peek(PC_ON_ROOTS, PC_NONE) != NULL};
}

static pc_text last_said(const pc_question *question) {
    const pc_talk *talk = question->talk;
    if (talk == NULL || talk->count == 0) return question->message;
    const pc_turn *turn = &talk->turns[talk->count - 1];
    pc_text *texts = pc_alloc_items(turn->count, sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < turn->count; i++) {
        if (turn->parts[i].content.data.at != NULL) texts[count++] = turn->parts[i].content.data;
    }
    return pc_join(texts, count, ", ");
}

static void sample(pc_question *question, const pc_reply *reply) {
    bool wants = reply->uses != NULL;
    pc_part *part = pc_alloc(sizeof *part);
    part->kind = wants ? PC_PART_TOOL_USE : PC_PART_CONTENT;
    part->content = pc_words(pc_of(reply->text));
    part->use = (pc_tool_use){pc_of("use"), pc_of(reply->uses), pc_of(reply->json == NULL ? "{}" : reply->json)};
    question->sampled = (pc_sampled){.text = pc_or(pc_of(reply->text), ""),
                                     .model = pc_of("test"),
                                     .stop_reason = pc_of(wants ? "toolUse" : "endTurn"),
                                     .uses = &part->use,
                                     .uses_count = wants,
                                     .turn = {true, part, 1}};
}

static const pc_error *answer(pc_question *question, pc_text schema, pc_text *filled) {
    static const struct { pc_on on; const char *ability; } kinds[] = {
        {PC_ON_FORM, "elicitation.form"}, {PC_ON_URL, "elicitation.url"}, {PC_ON_MODEL, "sampling"}, {PC_ON_ROOTS, "roots"}};
    pc_text key = pc_of(question->key), said = question->message;
    pc_text shown = pc_or(key, "-");
    switch (question->kind) {
        case PC_QUESTION_FORM: note("form %.*s: %.*s %.*s", PC_ARG(shown), PC_ARG(said), PC_ARG(schema)); break;
        case PC_QUESTION_URL:
            if (question->connection != NULL) note("connect %.*s: %.*s %s", PC_ARG(shown), PC_ARG(said), question->connection);
            else note("url %.*s: %.*s %.*s", PC_ARG(shown), PC_ARG(said), PC_ARG(question->address));
            break;
        case PC_QUESTION_MODEL:
            said = last_said(question);
            note("model %.*s: %.*s", PC_ARG(shown), PC_ARG(said));
            break;
        case PC_QUESTION_ROOTS: note("roots %.*s", PC_ARG(shown)); break;
    }
    const pc_reply *reply = reply_for(kinds[question->kind].on, key);
    if (reply == NULL) return pc_unsupported(kinds[question->kind].ability);
    if (reply->error != NULL) return reply->error;
    question->answer = reply->answer;
    if (question->kind == PC_QUESTION_FORM) *filled = pc_of(reply->json == NULL ? "{}" : reply->json);
    if (question->kind == PC_QUESTION_MODEL) sample(question, reply);
    if (question->kind == PC_QUESTION_ROOTS) {
        question->roots = pc_alloc(sizeof *question->roots);
        question->roots->uri = pc_of(reply->text);
        question->roots_count = reply->text != NULL;
    }
    return NULL;
}

const pc_error *host_ask(pc_question *questions, size_t count, bool together, const pc_text *schemas, pc_text *filled) {
    (void)together;
    for (size_t i = 0; i < count; i++) PC_TRY(answer(&questions[i], schemas[i], &filled[i]));
    return NULL;
}

const pc_error *pc_call_tool(const char *name, const pc_json *arguments, const pc_agent_options *options, pc_agent_result *result) {
    (void)options;
    note("tool %s %.*s", name, PC_ARG(pc_json_write(arguments)));
    const pc_reply *reply = reply_for(PC_ON_TOOL, pc_of(name));
    if (reply == NULL) return pc_denied("agent-tools", pc_of(name));
    if (reply->error != NULL) return reply->error;
    *result = (pc_agent_result){.structured = pc_of(reply->json)};
    if (reply->text == NULL) return NULL;
    result->content = pc_alloc(sizeof *result->content);
    *result->content = pc_words(pc_of(reply->text));
    result->count = 1;
    return NULL;
}

void pc_call_tools(pc_agent_call *calls, size_t count) {
    for (size_t i = 0; i < count; i++) calls[i].error = pc_call_tool(calls[i].name, calls[i].arguments, &calls[i].options, &calls[i].result);
}

/* Those that have a reply. */
void pc_agent_tools(pc_agent_tool **tools, size_t *count) {
    *tools = NULL;
    *count = 0;
    for (size_t i = 0; i < replies_count; i++) {
        if (replies_table[i].on != PC_ON_TOOL || replies_table[i].of == NULL) continue;
        *tools = pc_one_more(*tools, *count, sizeof **tools);
        (*tools)[(*count)++] = (pc_agent_tool){.name = pc_of(replies_table[i].of), .about = pc_of(""), .input_schema = pc_input_schema(NULL)};
    }
}

static const pc_error *sent(const pc_reply *reply, const pc_request *request, pc_response *response) {
    if (reply->error != NULL) return reply->error;
    *response = (pc_response){.status = reply->status == 0 ? 200 : reply->status, .body = pc_or(pc_of(reply->text), "")};
    if (reply->type != NULL) {
        response->headers = pc_alloc(sizeof *response->headers);
        *response->headers = (pc_header){pc_of("content-type"), pc_of(reply->type)};
        response->headers_count = 1;
    }
    response->truncated = request->most != 0 && response->body.length > request->most;
    if (response->truncated) response->body.length = request->most;
    return NULL;
}

static pc_text target(const pc_request *request) {
    const char *method = request->method != NULL ? request->method : request->body.length != 0 ? "POST" : "GET";
    return pc_format("%s %.*s", method, PC_ARG(request->url));
}

static const char *between(pc_text text) {
    return text.length == 0 ? "" : " ";
}

const pc_error *pc_send(const pc_request *request, pc_response *response) {
    pc_text what = target(request);
    note("%.*s%s%.*s", PC_ARG(what), between(request->body), PC_ARG(request->body));
    const pc_reply *reply = reply_for(PC_ON_HTTP, what);
    return reply == NULL ? pc_denied("http", what) : sent(reply, request, response);
}

const pc_error *pc_connected(const char *connection, bool *connected) {
    *connected = peek(PC_ON_CONNECTION, pc_of(connection)) != NULL;
    return NULL;
}

const pc_error *pc_send_as(const char *connection, const pc_request *request, pc_response *response) {
    pc_text what = target(request);
    note("%s: %.*s%s%.*s", connection, PC_ARG(what), between(request->body), PC_ARG(request->body));
    const pc_reply *reply = reply_for(PC_ON_CONNECTION, pc_of(connection));
    return reply == NULL ? failed_because(PC_NOT_CONNECTED, "the account is not connected") : sent(reply, request, response);
}
