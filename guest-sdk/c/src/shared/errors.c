/* Errors that both hosts make. */
#include "host.h"

const pc_error *cancelled(const char *sentence) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_CANCELLED;
    error->text = pc_of(sentence);
    return error;
}

const pc_error *failed_because(pc_cause cause, const char *format, ...) {
    va_list arguments;
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_FAILED;
    error->cause = cause;
    va_start(arguments, format);
    error->text = pc_formatted(format, arguments);
    va_end(arguments);
    return error;
}
