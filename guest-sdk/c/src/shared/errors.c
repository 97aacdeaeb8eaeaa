/* Errors that both hosts make. */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>

const pc_error *cancelled(const char *sentence) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_CANCELLED;
    error->text = pc_of(sentence);
    return error;
}

const pc_error *failed_because(pc_cause cause, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = pc_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(arguments);
    va_end(again);
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_FAILED;
    error->cause = cause;
    error->text = (pc_text){text, (size_t)length};
    return error;
}
