/* Questions: what is put into them, and what is made of the answers. */
#include "host.h"

#include <string.h>

static const pc_error *unexpected(const pc_error *why) {
    return pc_failed("the client's answer is not what was expected: %.*s", PC_ARG(why->text));
}

static const pc_error *ask(pc_question *questions, size_t count, bool together) {
    pc_text *schemas = pc_alloc_items(count, sizeof *schemas), *filled = pc_alloc_items(count, sizeof *filled);
    for (size_t i = 0; i < count; i++) {
        if (questions[i].kind == PC_QUESTION_FORM) schemas[i] = pc_form_schema(questions[i].fields);
    }
    PC_TRY(host_ask(questions, count, together, schemas, filled));
    for (size_t i = 0; i < count; i++) {
        pc_question *question = &questions[i];
        if (question->kind == PC_QUESTION_FORM && question->answer == PC_ACCEPTED) {
            const pc_error *wrong = pc_record_read(question->fields, question->record, filled[i]);
            if (wrong != NULL) return unexpected(wrong);
        }
        if (question->kind == PC_QUESTION_MODEL && question->talk != NULL) {
            pc_talk *talk = question->talk;
            talk->turns = pc_one_more(talk->turns, talk->count, sizeof *talk->turns);
            talk->turns[talk->count++] = question->sampled.turn;
        }
    }
    return NULL;
}

const pc_error *pc_ask_form(const char *key, pc_text message, const pc_field *fields, void *record, pc_answer *answer) {
    pc_question question = {PC_QUESTION_FORM, .key = key, .message = message, .fields = fields, .record = record};
    PC_TRY(ask(&question, 1, false));
    *answer = question.answer;
    return NULL;
}

const pc_field pc_confirmation[] = {PC_END};

const pc_error *pc_confirm(const char *key, pc_text message) {
    pc_answer answer;
    PC_TRY(pc_ask_form(key, message, pc_confirmation, NULL, &answer));
    return answer == PC_ACCEPTED ? NULL : pc_failed("the user did not confirm");
}

static const pc_error *ask_page(pc_question question, pc_answer *answer) {
    PC_TRY(ask(&question, 1, false));
    *answer = question.answer;
    return NULL;
}

const pc_error *pc_open_url(const char *key, pc_text message, pc_text address, pc_answer *answer) {
    return ask_page((pc_question){PC_QUESTION_URL, .key = key, .message = message, .address = address}, answer);
}

const pc_error *pc_connect(const char *key, pc_text message, const char *connection, pc_answer *answer) {
    return ask_page((pc_question){PC_QUESTION_URL, .key = key, .message = message, .connection = connection}, answer);
}

const pc_error *pc_or_stop(pc_answer answer) {
    switch (answer) {
        case PC_ACCEPTED: return NULL;
        case PC_REFUSED: return failed_because(PC_DECLINED, "the user declined");
        default: return failed_because(PC_DECLINED, "the user closed the question without an answer");
    }
}

const pc_error *pc_ask_roots(const char *key, pc_root **roots, size_t *count) {
    pc_question question = {PC_QUESTION_ROOTS, .key = key};
    PC_TRY(ask(&question, 1, false));
    *roots = question.roots;
    *count = question.roots_count;
    return NULL;
}

const pc_error *pc_ask_model(const pc_sample *how, pc_text message, pc_sampled *answer) {
    pc_question question = {PC_QUESTION_MODEL, .key = how->key, .message = message, .how = how};
    PC_TRY(ask(&question, 1, false));
    *answer = question.sampled;
    return NULL;
}

const pc_error *pc_ask_talk(const pc_sample *how, pc_talk *talk, pc_sampled *answer) {
    pc_question question = {PC_QUESTION_MODEL, .key = how->key, .how = how, .talk = talk};
    PC_TRY(ask(&question, 1, false));
    *answer = question.sampled;
    return NULL;
}

const pc_error *pc_use_read(const pc_tool_use *use, const pc_field *fields, void *record) {
    const pc_error *wrong = pc_record_read(fields, record, use->input);
    return wrong == NULL ? NULL : unexpected(wrong);
}

static bool is_taken(const pc_question *questions, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++) {
        if (questions[i].key != NULL && strcmp(questions[i].key, key) == 0) return true;
    }
    return false;
}

const pc_error *pc_ask_many(pc_question *questions, size_t count) {
    if (count == 0) return NULL;
    pc_question *keyed = pc_alloc_items(count, sizeof *keyed);
    for (size_t i = 0; i < count; i++) {
        keyed[i] = questions[i];
        if (keyed[i].key == NULL && keyed[i].how != NULL) keyed[i].key = keyed[i].how->key;
    }
    for (size_t i = 0; i < count; i++) {
        if (keyed[i].key != NULL) continue;
        pc_text key = pc_format("q%zu", i + 1);
        while (is_taken(keyed, count, key.at)) key = pc_format("%s_", key.at);
        keyed[i].key = key.at;
    }
    PC_TRY(ask(keyed, count, true));
    for (size_t i = 0; i < count; i++) {
        questions[i].answer = keyed[i].answer;
        questions[i].sampled = keyed[i].sampled;
        questions[i].roots = keyed[i].roots;
        questions[i].roots_count = keyed[i].roots_count;
    }
    return NULL;
}
