/* What a tool may use while it runs: output, progress, log, budget, messages, checkpoints. */
#include "wit.h"

const pc_error *pc_emit_content(const pc_content *content, size_t count, uint64_t *number) {
    portcullis_plugin_output_list_content_t list = {wit_contents_of(content, count), count};
    portcullis_plugin_output_output_error_t error;
    uint64_t sent;
    if (portcullis_plugin_output_emit(&list, &sent, &error)) {
        if (number != NULL) *number = sent;
        return NULL;
    }
    switch (error.tag) {
        case PORTCULLIS_PLUGIN_OUTPUT_OUTPUT_ERROR_CLOSED: return cancelled("nobody reads the output any more");
        case PORTCULLIS_PLUGIN_OUTPUT_OUTPUT_ERROR_EXHAUSTED: return exhausted(&error.val.exhausted);
        default: return pc_failed("the content cannot be sent: %.*s", PC_ARG(text_of(error.val.invalid)));
    }
}

void pc_progress(double done, double total, pc_text message) {
    pcwit_string_t words = wit_text(pc_valid(message));
    portcullis_plugin_progress_report(done, total == 0 ? NULL : &total, message.at == NULL ? NULL : &words);
}

void pc_log(pc_level level, pc_text message) {
    pcwit_string_t words = wit_text(pc_valid(message));
    portcullis_plugin_log_write((portcullis_plugin_log_level_t)level, &words);
}

uint64_t pc_deadline_left(void) {
    return portcullis_plugin_meter_deadline_left();
}

bool pc_fuel_left(uint64_t *fuel) {
    return portcullis_plugin_meter_fuel_left(fuel);
}

bool pc_next_message(pc_text *message) {
    pcwit_string_t words;
    if (!portcullis_plugin_steering_next(&words)) return false;
    *message = text_of(words);
    return true;
}

pc_received pc_receive(const uint64_t *timeout_ms, pc_text *message) {
    portcullis_plugin_steering_received_t received;
    uint64_t timeout = timeout_ms == NULL ? 0 : *timeout_ms;
    portcullis_plugin_steering_receive(timeout_ms == NULL ? NULL : &timeout, &received);
    switch (received.tag) {
        case PORTCULLIS_PLUGIN_STEERING_RECEIVED_MESSAGE: *message = text_of(received.val.message); return PC_MESSAGE;
        case PORTCULLIS_PLUGIN_STEERING_RECEIVED_ENDED: return PC_ENDED;
        default: return PC_TIMED_OUT;
    }
}

bool pc_restored(pc_text *state) {
    pcwit_list_u8_t bytes;
    if (!portcullis_plugin_checkpoint_restored(&bytes)) return false;
    *state = bytes_of(bytes);
    return true;
}

const pc_error *pc_save(pc_text state) {
    pcwit_list_u8_t bytes = wit_bytes(state);
    portcullis_plugin_checkpoint_checkpoint_error_t error;
    if (portcullis_plugin_checkpoint_save(&bytes, &error)) return NULL;
    if (error.tag == PORTCULLIS_PLUGIN_CHECKPOINT_CHECKPOINT_ERROR_NOT_OPENED) {
        return pc_failed("a call must ask for what was saved before it saves");
    }
    return pc_failed("a checkpoint has at most %llu bytes", (unsigned long long)error.val.too_large);
}
