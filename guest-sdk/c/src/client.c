/* Questions to the user and the model. */
#include "wit.h"

#define IS(error) PORTCULLIS_PLUGIN_CLIENT_CLIENT_ERROR_##error

#define DEFAULT_TOKENS 1000

static const pc_error *unanswered(const portcullis_plugin_client_client_error_t *error) {
    switch (error->tag) {
        /* The host tells the client that the tool needs this. */
        case IS(UNSUPPORTED):
            return pc_unsupported(pc_format("%.*s", PC_ARG(text_of(error->val.unsupported))).at);
        case IS(DENIED): return refused(&error->val.denied);
        case IS(INVALID):
            return pc_failed("the question cannot be asked: %.*s", PC_ARG(text_of(error->val.invalid)));
        case IS(DECLINED):
            return failed_because(PC_DECLINED, "the client's side declined the question: %.*s", PC_ARG(text_of(error->val.declined)));
        case IS(NOT_ANSWERED):
            return pc_failed("the form was not filled in: %.*s", PC_ARG(text_of(error->val.not_answered)));
        case IS(TIMEOUT):
            return failed_because(PC_NO_ANSWER, "the client did not answer within %llu ms", (unsigned long long)error->val.timeout);
        case IS(EXHAUSTED): return exhausted(&error->val.exhausted);
        case IS(CANCELLED): return cancelled("the call was cancelled");
        default: return pc_failed("the client failed to answer: %.*s", PC_ARG(text_of(error->val.failed)));
    }
}

static const pc_error *unexpected(const pc_error *why) {
    return pc_failed("the client's answer is not what was expected: %.*s", PC_ARG(why->text));
}

static const pc_error *ask(const char *key, pc_text message, pc_text schema, pc_text *filled, pc_answer *answer) {
    pcwit_string_t name = wit_text(pc_of(key));
    portcullis_plugin_client_form_t form = {wit_text(message), wit_text(schema)};
    portcullis_plugin_client_form_answer_t given;
    portcullis_plugin_client_client_error_t error;
    if (!portcullis_plugin_client_elicit_form(key == NULL ? NULL : &name, &form, &given, &error)) return unanswered(&error);
    switch (given.tag) {
        case PORTCULLIS_PLUGIN_CLIENT_FORM_ANSWER_ACCEPTED:
            *answer = PC_ACCEPTED;
            *filled = text_of(given.val.accepted);
            break;
        case PORTCULLIS_PLUGIN_CLIENT_FORM_ANSWER_DECLINED: *answer = PC_REFUSED; break;
        default: *answer = PC_CLOSED;
    }
    return NULL;
}

const pc_error *pc_ask_form(const char *key, pc_text message, const pc_field *fields, void *record, pc_answer *answer) {
    pc_text filled = PC_NONE;
    PC_TRY(ask(key, message, pc_form_schema(fields), &filled, answer));
    if (*answer != PC_ACCEPTED) return NULL;
    const pc_error *wrong = pc_record_read(fields, record, filled);
    return wrong == NULL ? NULL : unexpected(wrong);
}

const pc_error *pc_confirm(const char *key, pc_text message) {
    /* A required box: sending an empty form must not count as a yes. */
    static const pc_field box[] = {
        {.name = "confirmed", .type = {.kind = PC_IS_TRUTH, PC_LAID_OUT(bool)}, .title = "Yes, confirmed"},
        PC_END,
    };
    bool confirmed = false;
    pc_answer answer;
    PC_TRY(pc_ask_form(key, message, box, &confirmed, &answer));
    return answer == PC_ACCEPTED && confirmed ? NULL : pc_failed("the user did not confirm");
}

static pcwit_list_string_t one(const char *word) {
    if (word == NULL) return (pcwit_list_string_t){0};
    pcwit_string_t *words = pc_alloc(sizeof *words);
    *words = wit_text(pc_of(word));
    return (pcwit_list_string_t){words, 1};
}

const pc_error *pc_ask_model(const pc_sample *how, pc_text message, pc_sampled *answer) {
    portcullis_plugin_client_sample_content_t words = {.tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TEXT, .val.text = wit_text(pc_valid(message))};
    portcullis_plugin_client_sample_message_t said = {PORTCULLIS_PLUGIN_TYPES_ROLE_USER, {&words, 1}};
    portcullis_plugin_client_sample_request_t request = {
        .messages = {&said, 1},
        .system_prompt = wit_maybe(pc_of(how->system_prompt)),
        .max_tokens = how->max_tokens == 0 ? DEFAULT_TOKENS : how->max_tokens,
        .temperature = {how->temperature.is, how->temperature.value},
        .stop_sequences = one(how->stop_at),
        .model.hints = one(how->prefer_model),
        .purpose = wit_maybe(pc_of(how->purpose)),
    };
    pcwit_string_t key = wit_text(pc_of(how->key));
    portcullis_plugin_client_sample_answer_t given;
    portcullis_plugin_client_client_error_t error;
    if (!portcullis_plugin_client_sample(how->key == NULL ? NULL : &key, &request, &given, &error)) return unanswered(&error);
    pc_text *texts = pc_alloc_items(given.content.len, sizeof *texts);
    size_t count = 0;
    for (size_t i = 0; i < given.content.len; i++) {
        const portcullis_plugin_client_sample_content_t *piece = &given.content.ptr[i];
        if (piece->tag == PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TEXT) texts[count++] = text_of(piece->val.text);
    }
    *answer = (pc_sampled){pc_join(texts, count, "\n"), text_of(given.model), maybe_of(given.stop_reason)};
    return NULL;
}
