/* Tests of the host of tests, and with it of everything that is made of the functions of a host. */
#include "portcullis/test.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void same(int line, pc_text found, const char *expected) {
    if (pc_is(found, expected)) return;
    fprintf(stderr, "host.c, line %d: %.*s\n   expected %s\n", line, PC_ARG(found), expected);
    failures++;
}
#define SAME(found, expected) same(__LINE__, found, expected)
#define CHECK(holds) same(__LINE__, pc_of((holds) ? "it holds" : "it does not"), "it holds")
#define FAILS(call, sentence) same(__LINE__, sentence_of(call), sentence)

static pc_text sentence_of(const pc_error *error) {
    return error == NULL ? pc_of("no error") : error->text;
}

#define BEGIN(...)                                    \
    const pc_reply replies[] = {__VA_ARGS__};         \
    pc_test_begin(replies, sizeof replies / sizeof *replies)

typedef struct { pc_text to; int64_t nights; } trip;
static const pc_field trip_fields[] = {{PC_TEXT(trip, to)}, {PC_INTEGER(trip, nights), PC_ELSE_NUMBER(3)}, PC_END};

static const pc_error *book(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const trip *start = arguments;
    trip filled;
    pc_answer answer;
    PC_TRY(pc_emit(pc_of("one moment"), NULL));
    PC_TRY(pc_ask_form("trip", pc_format("To %.*s?", PC_ARG(start->to)), trip_fields, &filled, &answer));
    PC_TRY(pc_or_stop(answer));
    PC_TRY(pc_confirm(NULL, pc_of("Sure?")));
    pc_return(result, trip_fields, &filled);
    return NULL;
}

static const pc_error *read_guide(const pc_call *call, pc_text uri, const pc_text *variables, pc_found *found) {
    (void)call;
    found->missing = pc_is(variables[0], "none");
    pc_found_text(found, uri, variables[0]);
    return NULL;
}

static const pc_error *advise(const pc_call *call, const void *arguments, pc_said *said) {
    (void)call;
    pc_user_says(said, ((const trip *)arguments)->to);
    return NULL;
}

static const pc_error *towns(const pc_typed *typed, pc_suggested *suggested) {
    static const char *const norwegian[] = {"Bergen", "Oslo", NULL};
    CHECK(pc_other(typed, "country").at == NULL);
    pc_suggest_matching(suggested, typed, norwegian);
    return NULL;
}

static const char *const tones[] = {"Kind", "curt", NULL};
PC_TOOLS({.name = "book", .about = "Books.", PC_ARGUMENTS(trip, trip_fields), .call = book});
PC_RESOURCES({.uri = "guide://{town}", .name = "guide", .mime_type = "text/plain", .read = read_guide});
static const pc_field advice_fields[] = {{PC_TEXT(trip, to)}, PC_END};
PC_PROMPTS({.name = "advise", PC_ARGUMENTS(trip, advice_fields), .get = advise});
PC_COMPLETIONS({.prompt = "advise", .argument = "tone", .words = tones}, {.uri = "guide://{town}", .argument = "town", .suggest = towns});

static void forms(void) {
    pc_result result;
    BEGIN({PC_ON_FORM, .of = "trip", .json = "{\"to\":\"Oslo\"}"}, {PC_ON_FORM, .json = "{}"},
          {PC_ON_FORM, .answer = PC_REFUSED}, {PC_ON_FORM, .answer = PC_CLOSED}, {PC_ON_FORM, .of = "trip", .json = "{\"to\":1}"},
          {PC_ON_FORM, .json = "{\"to\":\"Oslo\"}"}, {PC_ON_FORM, .answer = PC_REFUSED});
    CHECK(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result) == NULL);
    SAME(result.structured, "{\"to\":\"Oslo\",\"nights\":3}");
    SAME(pc_test_noted(), "chunk one moment\n"
                          "form trip: To Bergen? {\"type\":\"object\",\"properties\":{\"to\":{\"type\":\"string\"},\"nights\":{\"type\":\"integer\",\"default\":3}},"
                          "\"required\":[\"to\"]}\n"
                          "form -: Sure? {\"type\":\"object\",\"properties\":{}}");
    CHECK(pc_test_unused() == 5);
    FAILS(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result), "the user declined");
    FAILS(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result), "the user closed the question without an answer");
    FAILS(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result), "the client's answer is not what was expected: `to` is no text");
    FAILS(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result), "the user did not confirm");
    CHECK(pc_test_unused() == 0);
    FAILS(pc_test_tool("book", "{\"to\":\"Bergen\"}", &result), "elicitation.form");
    FAILS(pc_test_tool("book", "{}", &result), "`to` is missing");
    FAILS(pc_test_tool("missing", NULL, &result), "this plugin has no tool named `missing`");
    pc_test_cancel();
    const pc_error *gone = pc_test_tool("book", "{\"to\":\"Bergen\"}", &result);
    CHECK(gone != NULL && gone->kind == PC_CANCELLED);
}

static void offers(void) {
    pc_found found;
    pc_said said;
    pc_suggested suggested;
    pc_test_begin(NULL, 0);
    CHECK(pc_test_resource("guide://B%C3%A4r", &found) == NULL && found.count == 1);
    SAME(found.content[0].data, "B\xC3\xA4r");
    SAME(found.content[0].mime_type, "text/plain");
    CHECK(pc_test_resource("guide://none", &found) == NULL && found.missing);
    CHECK(pc_test_resource("other://none", &found) == NULL && found.missing);
    CHECK(pc_test_prompt("advise", "{\"to\":\"Oslo\"}", &said) == NULL && said.count == 1);
    FAILS(pc_test_prompt("advise", NULL, &said), "`to` is missing");
    FAILS(pc_test_prompt("other", NULL, &said), "this plugin has no prompt named `other`");
    CHECK(pc_test_complete("advise", NULL, "tone", "k", &suggested) == NULL);
    SAME(pc_join(suggested.values, suggested.count, ","), "Kind");
    CHECK(pc_test_complete("advise", NULL, "tone", "", &suggested) == NULL && suggested.count == 2);
    CHECK(pc_test_complete(NULL, "guide://{town}", "town", "BER", &suggested) == NULL);
    SAME(pc_join(suggested.values, suggested.count, ","), "Bergen");
    CHECK(pc_test_complete("advise", NULL, "to", "x", &suggested) == NULL && suggested.count == 0);
}

static void many_questions(void) {
    BEGIN({PC_ON_MODEL, .of = "q2_", .text = "Hello"}, {PC_ON_FORM, .of = "q2", .json = "{\"to\":\"Oslo\"}"}, {PC_ON_ROOTS, .text = "file:///a"},
          {PC_ON_URL, .answer = PC_REFUSED}, {PC_ON_URL});
    pc_abilities can = pc_supported();
    CHECK(can.form && can.url && can.sample && can.roots);
    trip filled;
    pc_question asked[] = {
        {PC_QUESTION_FORM, .key = "q2", .message = pc_of("Where?"), .fields = trip_fields, .record = &filled},
        {PC_QUESTION_MODEL, .message = pc_of("Greet.")},
        {PC_QUESTION_ROOTS},
        {PC_QUESTION_URL, .key = "page", .message = pc_of("Look."), .address = pc_of("https://example.com/")},
    };
    CHECK(pc_ask_many(asked, 4) == NULL);
    SAME(filled.to, "Oslo");
    SAME(asked[1].sampled.text, "Hello");
    CHECK(asked[2].roots_count == 1 && asked[3].answer == PC_REFUSED && asked[1].key == NULL);
    SAME(asked[2].roots[0].uri, "file:///a");
    pc_answer answer;
    CHECK(pc_connect("account", pc_of("Connect."), "hub", &answer) == NULL && answer == PC_ACCEPTED);
    CHECK(strstr(pc_test_noted().at, "\nmodel q2_: Greet.\nroots q3\nurl page: Look. https://example.com/\nconnect account: Connect. hub") != NULL);
    FAILS(pc_ask_many(asked, 4), "elicitation.form");
    pc_root *roots;
    size_t count;
    FAILS(pc_ask_roots(NULL, &roots, &count), "roots");
    CHECK(pc_ask_many(NULL, 0) == NULL && !pc_supported().roots);
}

static void talks(void) {
    BEGIN({PC_ON_MODEL, .uses = "look_up", .json = "{\"to\":\"Oslo\"}"}, {PC_ON_MODEL, .uses = "look_up"}, {PC_ON_MODEL, .text = "It rains."});
    static const pc_sample_tool tool = {"look_up", "Looks up.", trip_fields};
    static const pc_sample how = {.key = "weather", .tools = &tool, .tools_count = 1, .tool_choice = PC_TOOLS_AUTO};
    pc_talk talk = {0};
    pc_sampled answer;
    trip wanted;
    pc_talk_user(&talk, pc_words(pc_of("What is the weather?")));
    CHECK(pc_ask_talk(&how, &talk, &answer) == NULL && answer.uses_count == 1);
    CHECK(pc_use_read(&answer.uses[0], trip_fields, &wanted) == NULL);
    pc_talk_outcome(&talk, &answer.uses[0], pc_words(wanted.to));
    CHECK(pc_ask_talk(&how, &talk, &answer) == NULL);
    FAILS(pc_use_read(&answer.uses[0], trip_fields, &wanted), "the client's answer is not what was expected: `to` is missing");
    pc_talk_failure(&talk, &answer.uses[0], pc_of("no such place"));
    pc_talk_outcome(&talk, &answer.uses[0], pc_words(pc_of("again")));
    CHECK(pc_ask_talk(&how, &talk, &answer) == NULL && answer.uses_count == 0);
    SAME(answer.text, "It rains.");
    CHECK(talk.count == 6 && talk.turns[4].count == 2 && talk.turns[4].parts[0].is_error && talk.turns[5].by_assistant);
    SAME(pc_test_noted(), "model weather: What is the weather?\nmodel weather: Oslo\nmodel weather: no such place, again");
    FAILS(pc_ask_model(&how, pc_of("?"), &answer), "sampling");
}

static void others(void) {
    BEGIN({PC_ON_TOOL, .of = "notes.add", .json = "{\"path\":\"a\"}"}, {PC_ON_TOOL, .of = "say", .text = "plain words"},
          {PC_ON_TOOL, .of = "say", .error = pc_failed("it broke")}, {PC_ON_HTTP, .of = "POST https://a.example/", .text = "abc", .type = "text/plain", .status = 404},
          {PC_ON_CONNECTION, .of = "hub", .text = "me"});
    pc_json nothing = pc_json_object(), value;
    pc_agent_call calls[] = {{.name = "say", .arguments = &nothing}, {.name = "files.read", .arguments = &nothing}, {.name = "notes.add", .arguments = &nothing}};
    pc_agent_tool *tools;
    size_t count;
    pc_agent_tools(&tools, &count);
    CHECK(count == 3);
    pc_call_tools(calls, 3);
    CHECK(calls[0].error == NULL && calls[2].error == NULL && calls[1].error->kind == PC_DENIED);
    CHECK(pc_agent_value(&calls[0].result, &value) == NULL);
    SAME(value.text, "plain words");
    CHECK(pc_agent_value(&calls[2].result, &value) == NULL);
    SAME(pc_member(&value, "path")->text, "a");
    pc_agent_result result;
    FAILS(pc_call_tool("say", &nothing, NULL, &result), "it broke");
    pc_request request = {.url = pc_of("https://a.example/"), .body = pc_of("x"), .most = 2};
    pc_response response;
    CHECK(pc_send(&request, &response) == NULL && response.truncated && response.body.length == 2);
    SAME(pc_header_of(&response, "Content-Type"), "text/plain");
    FAILS(pc_status(&response), "the other server answered with status 404");
    FAILS(pc_send(&request, &response), "denied: http does not allow `POST https://a.example/`");
    bool connected;
    CHECK(pc_connected("hub", &connected) == NULL && connected);
    pc_request own = {.url = pc_of("/user")};
    CHECK(pc_send_as("hub", &own, &response) == NULL);
    const pc_error *wrong = pc_send_as("hub", &own, &response);
    CHECK(wrong != NULL && wrong->cause == PC_NOT_CONNECTED);
    SAME(pc_test_noted(), "tool say {}\ntool files.read {}\ntool notes.add {}\ntool say {}\nPOST https://a.example/ x\nPOST https://a.example/ x\n"
                          "hub: GET /user\nhub: GET /user");
}

static const pc_error *raise(pc_text old, void *with, pc_text *changed) {
    /* Another call is first, once. */
    if ((*(int *)with)++ == 0) PC_TRY(pc_state_set(pc_of("count"), pc_of("7")));
    *changed = pc_format("%.*s+", PC_ARG(pc_or(old, "none")));
    return NULL;
}

static void keeping(void) {
    BEGIN({PC_ON_STATE, .of = "count", .text = "1"}, {PC_ON_STATE, .of = "b"}, {PC_ON_STATE, .of = "a"}, {PC_ON_MESSAGE, .text = "go"},
          {PC_ON_CHECKPOINT, .text = "saved"});
    int times = 0;
    pc_text changed, *keys, message, state;
    size_t count;
    bool there;
    uint64_t moment = 1, other = 99;
    CHECK(pc_state_update(pc_of("count"), raise, &times, &changed) == NULL && times == 2);
    SAME(changed, "7+");
    const pc_error *conflict = pc_state_swap(pc_of("count"), &other, changed);
    CHECK(conflict != NULL && conflict->cause == PC_CONFLICT);
    CHECK(pc_state_keys(pc_of(""), &keys, &count) == NULL);
    SAME(pc_join(keys, count, " "), "a b count");
    CHECK(pc_state_remove(pc_of("a"), &there) == NULL && there && pc_state_remove(pc_of("a"), &there) == NULL && !there);
    FAILS(pc_state_set(pc_of("a b"), changed), "it cannot be kept or read: `a b` is no key");
    FAILS(pc_save(changed), "a call must ask for what was saved before it saves");
    CHECK(pc_restored(&state) && pc_save(changed) == NULL);
    SAME(state, "saved");
    CHECK(pc_receive(NULL, &message) == PC_MESSAGE && pc_receive(&moment, &message) == PC_TIMED_OUT && pc_receive(NULL, &message) == PC_ENDED);
    pc_publication log = {.path = pc_of("runs/log"), .body = pc_of("one")};
    pc_text uri;
    CHECK(pc_publish(&log, &uri) == NULL && pc_publish_more(&log, NULL) == NULL && pc_unpublish(log.path) == NULL);
    SAME(uri, "portcullis://published/test/runs/log");
    pc_json payload = pc_json_of_integer(1);
    CHECK(pc_event("policy.new", &payload, "once", &there) == NULL && there);
    SAME(pc_test_noted(), "set count 7\nset count 7+\nremove a\nremove a\nsave 7+\npublish runs/log one\npublish-more runs/log one\nunpublish runs/log\n"
                          "event policy.new 1");
}

int host_tests(void) {
    forms();
    offers();
    many_questions();
    talks();
    others();
    keeping();
    return failures;
}
