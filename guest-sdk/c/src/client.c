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

pc_abilities pc_supported(void) {
    portcullis_plugin_client_abilities_t can;
    portcullis_plugin_client_supported(&can);
    return (pc_abilities){can.form, can.url, can.sample, can.sample_tools, can.roots};
}

static pcwit_list_string_t one(const char *word) {
    if (word == NULL) return (pcwit_list_string_t){0};
    pcwit_string_t *words = pc_alloc(sizeof *words);
    *words = wit_text(pc_of(word));
    return (pcwit_list_string_t){words, 1};
}

static pcwit_option_f64_t bound(pc_bound bound) {
    return (pcwit_option_f64_t){bound.is, bound.value};
}

static bool wit_part_of(const pc_part *part, portcullis_plugin_client_sample_content_t *made) {
    const pc_content *content = &part->content;
    portcullis_plugin_types_blob_t blob = {wit_text(content->mime_type), wit_bytes(content->data)};
    *made = (portcullis_plugin_client_sample_content_t){0};
    if (part->kind == PC_PART_TOOL_USE) {
        made->tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TOOL_USE;
        made->val.tool_use = (portcullis_plugin_client_tool_use_t){wit_text(part->use.id), wit_text(part->use.name), wit_text(part->use.input)};
    } else if (part->kind == PC_PART_OUTCOME) {
        made->tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TOOL_RESULT;
        made->val.tool_result = (portcullis_plugin_client_tool_outcome_t){
            .id = wit_text(part->use.id), .content = {wit_contents_of(content, 1), 1}, .is_error = part->is_error};
    } else if (content->kind == PC_CONTENT_TEXT) {
        made->tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TEXT;
        made->val.text = wit_text(pc_valid(content->data));
    } else if (content->kind == PC_CONTENT_IMAGE) {
        made->tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_IMAGE;
        made->val.image = blob;
    } else if (content->kind == PC_CONTENT_AUDIO) {
        made->tag = PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_AUDIO;
        made->val.audio = blob;
    } else {
        return false;
    }
    return true;
}

static const pc_error *sample_of(const pc_question *question, portcullis_plugin_client_sample_request_t *request) {
    static const pc_sample plain = {0};
    const pc_sample *how = question->how == NULL ? &plain : question->how;
    pc_talk one_turn = {0};
    if (question->talk == NULL) pc_talk_user(&one_turn, pc_words(question->message));
    const pc_talk *talk = question->talk == NULL ? &one_turn : question->talk;
    *request = (portcullis_plugin_client_sample_request_t){
        .messages = {pc_alloc_items(talk->count, sizeof *request->messages.ptr), talk->count},
        .system_prompt = wit_maybe(pc_of(how->system_prompt)),
        .max_tokens = how->max_tokens == 0 ? DEFAULT_TOKENS : how->max_tokens,
        .temperature = bound(how->temperature),
        .stop_sequences = one(how->stop_at),
        .model = {one(how->prefer_model), bound(how->cost), bound(how->speed), bound(how->intelligence)},
        .tools = {pc_alloc_items(how->tools_count, sizeof *request->tools.ptr), how->tools_count},
        .tool_choice = {how->tool_choice != PC_TOOLS_UNSET, (uint8_t)(how->tool_choice - (how->tool_choice != PC_TOOLS_UNSET))},
        .purpose = wit_maybe(pc_of(how->purpose)),
    };
    for (size_t i = 0; i < talk->count; i++) {
        const pc_turn *turn = &talk->turns[i];
        portcullis_plugin_client_sample_message_t *message = &request->messages.ptr[i];
        message->role = turn->by_assistant ? PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT : PORTCULLIS_PLUGIN_TYPES_ROLE_USER;
        message->content.len = turn->count;
        message->content.ptr = pc_alloc_items(turn->count, sizeof *message->content.ptr);
        for (size_t at = 0; at < turn->count; at++) {
            if (!wit_part_of(&turn->parts[at], &message->content.ptr[at])) {
                return pc_failed("the question cannot be asked: a model is told texts, images and sounds, and what came of tools");
            }
        }
    }
    for (size_t i = 0; i < how->tools_count; i++) {
        const pc_sample_tool *tool = &how->tools[i];
        request->tools.ptr[i] = (portcullis_plugin_client_sample_tool_t){
            wit_text(pc_of(tool->name)), wit_maybe(pc_of(tool->about)), wit_text(pc_plain_schema(tool->arguments))};
    }
    return NULL;
}

static pc_part part_of(const portcullis_plugin_client_sample_content_t *from) {
    pc_part part = {0};
    switch (from->tag) {
        case PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TEXT: part.content = pc_words(text_of(from->val.text)); break;
        case PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_IMAGE:
        case PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_AUDIO:
            part.content.kind = from->tag == PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_IMAGE ? PC_CONTENT_IMAGE : PC_CONTENT_AUDIO;
            part.content.mime_type = text_of(from->val.image.mime_type);
            part.content.data = bytes_of(from->val.image.data);
            break;
        case PORTCULLIS_PLUGIN_CLIENT_SAMPLE_CONTENT_TOOL_USE:
            part.kind = PC_PART_TOOL_USE;
            part.use = (pc_tool_use){text_of(from->val.tool_use.id), text_of(from->val.tool_use.name), text_of(from->val.tool_use.input)};
            break;
        default:
            part.kind = PC_PART_OUTCOME;
            part.use.id = text_of(from->val.tool_result.id);
            part.is_error = from->val.tool_result.is_error;
            if (from->val.tool_result.content.len != 0) part.content = *contents_of(from->val.tool_result.content.ptr, 1);
    }
    return part;
}

static pc_sampled sampled_of(const portcullis_plugin_client_sample_answer_t *given) {
    size_t count = given->content.len;
    pc_turn turn = {given->role == PORTCULLIS_PLUGIN_TYPES_ROLE_ASSISTANT, pc_alloc_items(count, sizeof *turn.parts), count};
    pc_text *texts = pc_alloc_items(count, sizeof *texts);
    pc_sampled answer = {.model = text_of(given->model), .stop_reason = maybe_of(given->stop_reason), .turn = turn};
    size_t said = 0;
    answer.uses = pc_alloc_items(count, sizeof *answer.uses);
    for (size_t i = 0; i < count; i++) {
        pc_part *part = &turn.parts[i];
        *part = part_of(&given->content.ptr[i]);
        if (part->kind == PC_PART_TOOL_USE) answer.uses[answer.uses_count++] = part->use;
        if (part->kind == PC_PART_CONTENT && part->content.kind == PC_CONTENT_TEXT) texts[said++] = part->content.data;
    }
    answer.text = pc_join(texts, said, "\n");
    return answer;
}

static const pc_error *answered(pc_question *question, const portcullis_plugin_client_answer_t *given, pc_text *filled) {
    if (given->tag != (uint8_t)question->kind) return pc_failed("the client failed to answer: the host answered another question");
    switch (given->tag) {
        case PORTCULLIS_PLUGIN_CLIENT_ANSWER_FORM:
            question->answer = (pc_answer)given->val.form.tag;
            if (question->answer == PC_ACCEPTED) *filled = text_of(given->val.form.val.accepted);
            break;
        case PORTCULLIS_PLUGIN_CLIENT_ANSWER_URL: question->answer = (pc_answer)given->val.url; break;
        case PORTCULLIS_PLUGIN_CLIENT_ANSWER_SAMPLE: question->sampled = sampled_of(&given->val.sample); break;
        default:
            question->roots_count = given->val.roots.len;
            question->roots = pc_alloc_items(given->val.roots.len, sizeof *question->roots);
            for (size_t i = 0; i < given->val.roots.len; i++) {
                question->roots[i] = (pc_root){text_of(given->val.roots.ptr[i].uri), maybe_of(given->val.roots.ptr[i].name)};
            }
    }
    return NULL;
}

static const pc_error *asked_of(const pc_question *question, pc_text schema, portcullis_plugin_client_question_t *asked) {
    *asked = (portcullis_plugin_client_question_t){.tag = (uint8_t)question->kind};
    portcullis_plugin_client_url_target_t target = {.tag = PORTCULLIS_PLUGIN_CLIENT_URL_TARGET_ADDRESS, .val.address = wit_text(question->address)};
    if (question->connection != NULL) {
        target.tag = PORTCULLIS_PLUGIN_CLIENT_URL_TARGET_CONNECT;
        target.val.connect = wit_text(pc_of(question->connection));
    }
    switch (question->kind) {
        case PC_QUESTION_FORM: asked->val.form = (portcullis_plugin_client_form_t){wit_text(pc_valid(question->message)), wit_text(schema)}; break;
        case PC_QUESTION_URL: asked->val.url = (portcullis_plugin_client_url_t){wit_text(pc_valid(question->message)), target}; break;
        case PC_QUESTION_MODEL: return sample_of(question, &asked->val.sample);
        case PC_QUESTION_ROOTS: break;
    }
    return NULL;
}

static const pc_error *ask_one(const pc_question *question, portcullis_plugin_client_question_t *asked, portcullis_plugin_client_answer_t *given) {
    pcwit_string_t name = wit_text(pc_of(question->key)), *key = question->key == NULL ? NULL : &name;
    portcullis_plugin_client_client_error_t error;
    bool good = false;
    *given = (portcullis_plugin_client_answer_t){.tag = asked->tag};
    switch (question->kind) {
        case PC_QUESTION_FORM: good = portcullis_plugin_client_elicit_form(key, &asked->val.form, &given->val.form, &error); break;
        case PC_QUESTION_URL: good = portcullis_plugin_client_elicit_url(key, &asked->val.url, &given->val.url, &error); break;
        case PC_QUESTION_MODEL: good = portcullis_plugin_client_sample(key, &asked->val.sample, &given->val.sample, &error); break;
        case PC_QUESTION_ROOTS: good = portcullis_plugin_client_list_roots(key, &given->val.roots, &error); break;
    }
    return good ? NULL : unanswered(&error);
}

const pc_error *host_ask(pc_question *questions, size_t count, bool together, const pc_text *schemas, pc_text *filled) {
    portcullis_plugin_client_list_keyed_question_t all = {pc_alloc_items(count, sizeof *all.ptr), count};
    portcullis_plugin_client_list_answer_t given = {pc_alloc_items(count, sizeof *given.ptr), count};
    for (size_t i = 0; i < count; i++) {
        all.ptr[i].key = wit_text(pc_of(questions[i].key));
        PC_TRY(asked_of(&questions[i], schemas[i], &all.ptr[i].question));
    }
    if (together) {
        portcullis_plugin_client_client_error_t error;
        if (!portcullis_plugin_client_ask_many(&all, &given, &error)) return unanswered(&error);
        if (given.len != count) return pc_failed("the client failed to answer: the host answered another question");
    } else {
        PC_TRY(ask_one(questions, &all.ptr[0].question, given.ptr));
    }
    for (size_t i = 0; i < count; i++) PC_TRY(answered(&questions[i], &given.ptr[i], &filled[i]));
    return NULL;
}
