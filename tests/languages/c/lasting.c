/* A task that listens, and goes on in another process; and what is left to a call. */
#include "polyglot.h"

const pc_field march_arguments[] = {{PC_INTEGER(marching, steps), PC_FROM(1), PC_UPTO(9)}, PC_END};

typedef struct { PC_LIST(pc_text) said; } marched;
static const pc_field marched_fields[] = {{PC_LIST_OF(marched, said, &pc_texts)}, PC_END};

const pc_error *march(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const marching *asked = arguments;
    marched march = {0};
    pc_text state, message;
    if (pc_restored(&state)) PC_TRY(pc_record_read(marched_fields, &march, state));
    while (march.said.count < (size_t)asked->steps) {
        PC_TRY(pc_emit(pc_format("at step %zu", march.said.count), NULL));
        if (pc_receive(NULL, &message) != PC_MESSAGE) break;
        if (pc_is(message, "halt")) {
            pc_text said = pc_join(march.said.at, march.said.count, ", ");
            pc_say(result, pc_format("halted after %.*s", PC_ARG(said)));
            return NULL;
        }
        march.said.at = pc_one_more(march.said.at, march.said.count, sizeof message);
        march.said.at[march.said.count++] = message;
        PC_TRY(pc_save(pc_record_write(marched_fields, &march)));
    }
    pc_say(result, pc_join(march.said.at, march.said.count, ", "));
    return NULL;
}

const pc_error *listen(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    static const char *const none[] = {[PC_ENDED] = "ended", [PC_TIMED_OUT] = "timed out"};
    uint64_t moment = 1;
    pc_text first, second;
    if (!pc_next_message(&first)) first = pc_of("nothing");
    pc_received received = pc_receive(&moment, &second);
    if (received != PC_MESSAGE) second = pc_of(none[received]);
    pc_say(result, pc_format("%.*s, %.*s", PC_ARG(first), PC_ARG(second)));
    return NULL;
}

const pc_error *budget(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    uint64_t fuel = 0;
    bool left = pc_fuel_left(&fuel) && fuel > 0;
    pc_say(result, pc_format("%s, %s", left ? "true" : "false", pc_deadline_left() > 0 ? "true" : "false"));
    return NULL;
}
