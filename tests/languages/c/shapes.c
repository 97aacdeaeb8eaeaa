/* What goes in and out: arguments, structured results, content, errors. */
#include "polyglot.h"

enum { PLAIN, LOUD };
static const char *const styles[] = {"plain", "loud", NULL};
const pc_field greet_arguments[] = {
    {PC_TEXT(greeting, name), .about = "Whom to greet.", PC_FROM(1), PC_UPTO(40)},
    {PC_INTEGER(greeting, times), .about = "How often.", PC_FROM(1), PC_UPTO(3), PC_ELSE_NUMBER(1)},
    {PC_CHOICE(greeting, style, styles), .about = "How it sounds.", PC_ELSE_TEXT("plain")},
    {PC_TEXT(greeting, title), .about = "What comes before the name.", PC_OPTIONAL},
    PC_END,
};

const pc_error *greet(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const greeting *greeting = arguments;
    pc_text title = pc_or(greeting->title, "");
    pc_text line = pc_format("Hello, %.*s%s%.*s!", PC_ARG(title), greeting->title.at == NULL ? "" : " ", PC_ARG(greeting->name));
    pc_text lines[3];
    for (int64_t i = 0; i < greeting->times; i++) lines[i] = greeting->style == LOUD ? pc_upper(line) : line;
    pc_say(result, pc_join(lines, (size_t)greeting->times, "\n"));
    return NULL;
}

static const pc_field point_fields[] = {
    {PC_INTEGER(point, x)},
    {PC_INTEGER(point, y), .about = "Upwards."},
    {PC_TEXT(point, label), PC_OPTIONAL},
    PC_END,
};
static const pc_type points = PC_RECORDS(point, point_fields);
const pc_field measure_arguments[] = {
    {PC_LIST_OF(measuring, points, &points), .about = "At least one.", PC_FROM(1)},
    {PC_MAP_OF(measuring, weights, &pc_integers), .about = "Weights by name."},
    {PC_NUMBER(measuring, scale), .about = "The unit.", PC_FROM(0.25), PC_ELSE_NUMBER(0.5)},
    {PC_TRUTH(measuring, named), .about = "Whether to name the first point.", PC_ELSE_TRUTH(false)},
    PC_END,
};

typedef struct {
    int64_t count;
    double width;
    int64_t weight;
    PC_LIST(pc_text) labels;
    const point *first;
} measured;
const pc_field measured_fields[] = {
    {PC_INTEGER(measured, count), .about = "How many points."},
    {PC_NUMBER(measured, width)},
    {PC_INTEGER(measured, weight)},
    {PC_LIST_OF(measured, labels, &pc_texts)},
    {PC_RECORD(measured, first, point, point_fields), PC_OPTIONAL},
    PC_END,
};

const pc_error *measure(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const measuring *asked = arguments;
    measured found = {.count = (int64_t)asked->points.count};
    found.labels.at = pc_alloc_items(asked->points.count, sizeof *found.labels.at);
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (size_t i = 0; i < asked->points.count; i++) {
        const point *point = &asked->points.at[i];
        if (point->x < least) least = point->x;
        if (point->x > greatest) greatest = point->x;
        if (point->label.at != NULL) found.labels.at[found.labels.count++] = point->label;
    }
    found.width = ((double)greatest - (double)least) * asked->scale;
    for (size_t i = 0; i < asked->weights.count; i++) found.weight += asked->weights.at[i].value;
    if (asked->named) found.first = &asked->points.at[0];
    pc_return(result, measured_fields, &found);
    return NULL;
}

const pc_error *contents(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call, (void)arguments;
    pc_content link = pc_link("polyglot://about", "about");
    link.title = pc_of("About");
    link.description = pc_of("What this is.");
    link.mime_type = pc_of("text/plain");
    link.size = 27;
    pc_say(result, pc_of("text"));
    pc_add(result, pc_image("image/png", (pc_text){"\1\2\3", 3}));
    pc_add(result, pc_audio("audio/wav", (pc_text){"\4\5\6", 3}));
    pc_add(result, link);
    pc_add(result, pc_resource_text(pc_of("polyglot://note"), "text/plain", pc_of("a note")));
    pc_add(result, pc_resource_bytes(pc_of("polyglot://bytes"), NULL, (pc_text){"\7\10", 2}));
    return NULL;
}

const pc_error *context(const pc_call *call, const void *arguments, pc_result *result) {
    (void)arguments;
    pc_text mark = pc_or(call->correlation_id, "nothing"), key = pc_or(call->idempotency_key, "nothing");
    const char *time = call->deadline_ms > 0 ? "true" : "false";
    pc_say(result, pc_format("%.*s, %.*s, %.*s, %s", PC_ARG(call->principal), PC_ARG(mark), PC_ARG(key), time));
    return NULL;
}

const pc_field stream_arguments[] = {{PC_INTEGER(counted, count), .about = "How many.", PC_FROM(1), PC_UPTO(9)}, PC_END};

const pc_error *stream(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const counted *asked = arguments;
    uint64_t last = 0, both;
    for (int64_t part = 1; part <= asked->count; part++) {
        pc_log(PC_INFO, pc_format("polyglot sends part %d", (int)part));
        PC_TRY(pc_emit(pc_format("part %d", (int)part), &last));
        pc_progress((double)part, (double)asked->count, pc_format("sent %d", (int)part));
    }
    pc_content end[2] = {pc_words(pc_of("for you alone")), pc_words(pc_of("the end"))};
    end[0].for_user = true;
    end[0].priority = (pc_bound){true, 0.5};
    PC_TRY(pc_emit_content(end, 2, &both));
    pc_say(result, pc_format("%d %d", (int)last, (int)both));
    return NULL;
}

enum { INVALID, FAILED, UNSUPPORTED, CONTENT, ERROR };
static const char *const ways[] = {"invalid", "failed", "unsupported", "content", "error", NULL};
const pc_field fail_arguments[] = {{PC_CHOICE(failing, how, ways)}, PC_END};

const pc_error *fail(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const failing *asked = arguments;
    switch (asked->how) {
        case INVALID: return pc_invalid("`how` was not wanted");
        case FAILED: return pc_failed("it did not work");
        case UNSUPPORTED: return pc_unsupported("a printer");
        case CONTENT:
            result->is_error = true;
            pc_say(result, pc_of("it went wrong"));
            pc_say(result, pc_of("twice"));
            return NULL;
        default: return pc_failed("an ordinary error");
    }
}
