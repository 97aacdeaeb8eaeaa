/* Tools of the agent, kept values, other servers. */
#include "polyglot.h"

const pc_field delegate_arguments[] = {
    {PC_TEXT(delegating, tool)},
    {PC_TEXT(delegating, path), PC_OPTIONAL},
    {PC_TEXT(delegating, n), .about = "A number, or what the tool refuses.", PC_OPTIONAL},
    PC_END,
};

const pc_error *delegate(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const delegating *asked = arguments;
    pc_json passed = pc_json_object(), said;
    if (asked->path.at != NULL) pc_set(&passed, "path", pc_json_of_text(asked->path));
    int64_t n;
    if (pc_reads_integer(asked->n, &n)) pc_set(&passed, "n", pc_json_of_integer(n));
    else if (asked->n.at != NULL) pc_set(&passed, "n", pc_json_of_text(asked->n));
    pc_agent_result answer;
    const char *tool = pc_format("%.*s", PC_ARG(asked->tool)).at;
    PC_TRY(pc_call_tool(tool, &passed, NULL, &answer));
    PC_TRY(pc_agent_value(&answer, &said));
    pc_text path = pc_json_write(pc_member(&said, "path")), number = pc_json_write(pc_member(&said, "n"));
    pc_say(result, pc_format("%s said %.*s and %.*s", tool, PC_ARG(path), PC_ARG(number)));
    return NULL;
}

enum { SET, GET, REMOVE, LIST, COUNT };
static const char *const actions[] = {"set", "get", "remove", "list", "count", NULL};
const pc_field keep_arguments[] = {
    {PC_CHOICE(keeping, action, actions)},
    {PC_TEXT(keeping, key)},
    {PC_TEXT(keeping, value), PC_OPTIONAL},
    PC_END,
};

static const pc_error *raised(pc_text old, void *with, pc_text *changed) {
    (void)with;
    pc_json value = pc_json_of_integer(0);
    int64_t count;
    if (old.at != NULL) PC_TRY(pc_json_read(old, &value));
    if (!pc_json_integer(&value, &count)) return pc_failed("it is no number");
    value = pc_json_of_integer(count + 1);
    *changed = pc_json_write(&value);
    return NULL;
}

const pc_error *keep(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const keeping *asked = arguments;
    pc_text said = pc_of("nothing"), *keys;
    pc_entry entry;
    bool there;
    size_t count;
    switch (asked->action) {
        case SET:
            PC_TRY(pc_state_set(asked->key, pc_or(asked->value, "")));
            said = pc_of("kept");
            break;
        case GET:
            PC_TRY(pc_state_get(asked->key, &entry));
            if (entry.found) said = pc_valid(entry.value);
            break;
        case REMOVE:
            PC_TRY(pc_state_remove(asked->key, &there));
            if (there) said = pc_of("removed");
            break;
        case LIST:
            PC_TRY(pc_state_keys(asked->key, &keys, &count));
            said = pc_join(keys, count, ", ");
            break;
        default: PC_TRY(pc_state_update(asked->key, raised, NULL, &said));
    }
    pc_say(result, said);
    return NULL;
}

const pc_field fetch_arguments[] = {{PC_TEXT(fetching, path)}, {PC_TEXT(fetching, body), PC_OPTIONAL}, PC_END};

typedef struct {
    int64_t status;
    pc_text kind;
    bool truncated;
    pc_text text;
} fetched;
const pc_field fetched_fields[] = {
    {PC_INTEGER(fetched, status)},
    {PC_TEXT(fetched, kind), PC_OPTIONAL},
    {PC_TRUTH(fetched, truncated)},
    {PC_TEXT(fetched, text)},
    PC_END,
};

/* GET without a body, or POST of it as JSON. */
static void put_body(pc_request *request, const fetching *asked) {
    if (asked->body.at == NULL) return;
    pc_json body = pc_json_object();
    pc_set(&body, "body", pc_json_of_text(asked->body));
    request->body = pc_json_write(&body);
    request->content_type = "application/json";
}

const pc_error *fetch(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const fetching *asked = arguments;
    pc_header mark = {pc_of("x-polyglot"), pc_of("yes")};
    pc_request request = {
        .url = pc_format("http://localhost:8444%.*s", PC_ARG(asked->path)),
        .headers = &mark,
        .headers_count = 1,
        .most = 20,
    };
    put_body(&request, asked);
    pc_response response;
    PC_TRY(pc_send(&request, &response));
    if (response.status == 500) return pc_status(&response);
    fetched found = {response.status, pc_header_of(&response, "content-type"), response.truncated, pc_valid(response.body)};
    pc_return(result, fetched_fields, &found);
    return NULL;
}

const pc_field gather_arguments[] = {{PC_LIST_OF(gathering, tools, &pc_texts)}, PC_END};

const pc_error *gather(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const gathering *asked = arguments;
    size_t count = asked->tools.count;
    pc_agent_call *calls = pc_alloc_items(count, sizeof *calls);
    pc_json *passed = pc_alloc_items(count, sizeof *passed);
    pc_text *lines = pc_alloc_items(count, sizeof *lines);
    for (size_t i = 0; i < count; i++) {
        passed[i] = pc_json_object();
        pc_set(&passed[i], "path", pc_json_of_text(asked->tools.at[i]));
        pc_set(&passed[i], "n", pc_json_of_integer((int64_t)i + 1));
        calls[i] = (pc_agent_call){.name = pc_format("%.*s", PC_ARG(asked->tools.at[i])).at, .arguments = &passed[i]};
    }
    pc_call_tools(calls, count);
    for (size_t i = 0; i < count; i++) {
        pc_json said;
        const pc_error *error = calls[i].error ? calls[i].error : pc_agent_value(&calls[i].result, &said);
        if (error != NULL) {
            lines[i] = error->text;
            continue;
        }
        pc_text path = pc_json_write(pc_member(&said, "path")), n = pc_json_write(pc_member(&said, "n"));
        lines[i] = pc_format("%.*s and %.*s", PC_ARG(path), PC_ARG(n));
    }
    pc_say(result, pc_join(lines, count, "\n"));
    return NULL;
}

const pc_field account_arguments[] = {{PC_TEXT(fetching, path)}, {PC_TEXT(fetching, body), PC_OPTIONAL}, PC_END};

const pc_error *account(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const fetching *asked = arguments;
    bool connected;
    pc_answer answer;
    PC_TRY(pc_connected("service", &connected));
    if (!connected) {
        PC_TRY(pc_connect("service", pc_of("Connect the service."), "service", &answer));
        PC_TRY(pc_or_stop(answer));
    }
    pc_header kind = {pc_of("x-kind"), pc_of("person")};
    pc_request request = {.url = asked->path, .headers = &kind, .headers_count = 1};
    put_body(&request, asked);
    pc_response response;
    PC_TRY(pc_send_as("service", &request, &response));
    PC_TRY(pc_status(&response));
    pc_say(result, pc_format("%d %.*s", response.status, PC_ARG(pc_valid(response.body))));
    return NULL;
}
