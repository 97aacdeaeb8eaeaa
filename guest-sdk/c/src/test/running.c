/* What the host of tests does with output, messages, checkpoints, kept values and publications. */
#include "fake.h"

#include <string.h>

/* As the real host's. */
#define MOST_SAVED (256 << 10)
#define MOST_KEY 256

static uint64_t chunks;
static bool has_restored;

typedef struct { pc_text key, value; uint64_t version; } kept;
static kept *values;
static size_t values_count;
static uint64_t version;

void begin_state(void) {
    chunks = version = 0;
    has_restored = false;
    values = NULL;
    values_count = 0;
    for (size_t i = 0; i < replies_count; i++) {
        const pc_reply *reply = &replies_table[i];
        if (reply->on != PC_ON_STATE) continue;
        values = pc_one_more(values, values_count, sizeof *values);
        values[values_count++] = (kept){pc_of(reply->of), pc_or(pc_of(reply->text), ""), ++version};
    }
}

const pc_error *pc_emit_content(const pc_content *content, size_t count, uint64_t *number) {
    if (is_gone) return cancelled("nobody reads the output any more");
    note("chunk %.*s", PC_ARG(pc_all_text(content, count)));
    if (number != NULL) *number = chunks;
    chunks++;
    return NULL;
}

void pc_progress(double done, double total, pc_text message) {
    note("progress %g of %g: %.*s", done, total, PC_ARG(pc_or(message, "")));
}

void pc_log(pc_level level, pc_text message) {
    (void)level;
    note("log %.*s", PC_ARG(message));
}

uint64_t pc_deadline_left(void) {
    return 30000;
}

bool pc_fuel_left(uint64_t *fuel) {
    *fuel = 1000000;
    return true;
}

bool pc_next_message(pc_text *message) {
    const pc_reply *reply = reply_for(PC_ON_MESSAGE, PC_NONE);
    if (reply == NULL) return false;
    *message = pc_or(pc_of(reply->text), "");
    return true;
}

pc_received pc_receive(const uint64_t *timeout_ms, pc_text *message) {
    if (pc_next_message(message)) return PC_MESSAGE;
    return timeout_ms == NULL ? PC_ENDED : PC_TIMED_OUT;
}

bool pc_restored(pc_text *state) {
    has_restored = true;
    const pc_reply *reply = reply_for(PC_ON_CHECKPOINT, PC_NONE);
    if (reply == NULL) return false;
    *state = pc_or(pc_of(reply->text), "");
    return true;
}

const pc_error *pc_save(pc_text state) {
    if (!has_restored) return pc_failed("a call must ask for what was saved before it saves");
    if (state.length > MOST_SAVED) return pc_failed("a checkpoint has at most %d bytes", MOST_SAVED);
    note("save %.*s", PC_ARG(state));
    return NULL;
}

static const pc_error *check_key(pc_text key) {
    bool good = key.length > 0 && key.length <= MOST_KEY;
    for (size_t i = 0; good && i < key.length; i++) {
        char c = key.at[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != '\0' && strchr("._:/-", c) != NULL);
    }
    return good ? NULL : pc_failed("it cannot be kept or read: `%.*s` is no key", PC_ARG(key));
}

static kept *find(pc_text key) {
    for (size_t i = 0; i < values_count; i++) {
        kept *value = &values[i];
        if (value->key.length == key.length && memcmp(value->key.at, key.at, key.length) == 0) return value;
    }
    return NULL;
}

const pc_error *pc_state_get(pc_text key, pc_entry *entry) {
    PC_TRY(check_key(key));
    const kept *value = find(key);
    *entry = value == NULL ? (pc_entry){0} : (pc_entry){true, value->value, value->version};
    return NULL;
}

const pc_error *pc_state_set(pc_text key, pc_text value) {
    PC_TRY(check_key(key));
    note("set %.*s %.*s", PC_ARG(key), PC_ARG(value));
    kept *old = find(key);
    if (old == NULL) {
        values = pc_one_more(values, values_count, sizeof *values);
        old = &values[values_count++];
    }
    /* A copy: a tool may go on with its own. */
    *old = (kept){key, pc_join(&value, 1, ""), ++version};
    return NULL;
}

const pc_error *pc_state_swap(pc_text key, const uint64_t *wanted, pc_text value) {
    PC_TRY(check_key(key));
    const kept *old = find(key);
    bool fits = wanted == NULL ? old == NULL : old != NULL && old->version == *wanted;
    return fits ? pc_state_set(key, value) : failed_because(PC_CONFLICT, "somebody else changed it meanwhile");
}

const pc_error *pc_state_remove(pc_text key, bool *was_there) {
    PC_TRY(check_key(key));
    note("remove %.*s", PC_ARG(key));
    kept *old = find(key);
    if (was_there != NULL) *was_there = old != NULL;
    if (old != NULL) *old = values[--values_count];
    return NULL;
}

static bool is_before(pc_text one, pc_text other) {
    size_t both = one.length < other.length ? one.length : other.length;
    int order = memcmp(one.at, other.at, both);
    return order < 0 || (order == 0 && one.length < other.length);
}

const pc_error *pc_state_keys(pc_text prefix, pc_text **keys, size_t *count) {
    *keys = NULL;
    *count = 0;
    for (size_t i = 0; i < values_count; i++) {
        pc_text key = values[i].key;
        if (key.length < prefix.length || (prefix.length != 0 && memcmp(key.at, prefix.at, prefix.length) != 0)) continue;
        *keys = pc_one_more(*keys, *count, sizeof **keys);
        size_t at = (*count)++;
        for (; at > 0 && is_before(key, (*keys)[at - 1]); at--) (*keys)[at] = (*keys)[at - 1];
        (*keys)[at] = key;
    }
    return NULL;
}

static const pc_error *published(const char *how, const pc_publication *publication, pc_text *uri) {
    note("%s %.*s %.*s", how, PC_ARG(publication->path), PC_ARG(publication->body));
    if (uri != NULL) *uri = pc_format("portcullis://published/test/%.*s", PC_ARG(publication->path));
    return NULL;
}

const pc_error *pc_publish(const pc_publication *publication, pc_text *uri) {
    return published("publish", publication, uri);
}

const pc_error *pc_publish_more(const pc_publication *publication, pc_text *uri) {
    return published("publish-more", publication, uri);
}

const pc_error *pc_unpublish(pc_text path) {
    note("unpublish %.*s", PC_ARG(path));
    return NULL;
}

const pc_error *pc_publish_prompt(const pc_published_prompt *prompt) {
    note("publish-prompt %s", prompt->name);
    return NULL;
}

const pc_error *pc_unpublish_prompt(const char *name) {
    note("unpublish-prompt %s", name);
    return NULL;
}

const pc_error *pc_event(const char *name, const pc_json *payload, const char *once, bool *added) {
    (void)once;
    note("event %s %.*s", name, PC_ARG(pc_json_write(payload)));
    if (added != NULL) *added = true;
    return NULL;
}
