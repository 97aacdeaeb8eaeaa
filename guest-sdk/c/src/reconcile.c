/* The export `reconcile`. */
#include "wit.h"

#define IS(name) EXPORTS_PORTCULLIS_PLUGIN_RECONCILE_##name

static void set_effect(pc_doubt *doubt, const exports_portcullis_plugin_reconcile_effect_t *effect) {
    doubt->effect = (pc_effect)effect->tag;
    if (effect->tag == IS(EFFECT_HTTP)) {
        const exports_portcullis_plugin_reconcile_http_request_t *request = &effect->val.http;
        pc_header *headers = pc_alloc_items(request->headers.len, sizeof *headers);
        for (size_t i = 0; i < request->headers.len; i++) {
            headers[i] = (pc_header){text_of(request->headers.ptr[i].f0), bytes_of(request->headers.ptr[i].f1)};
        }
        doubt->method = text_of(request->method);
        doubt->url = text_of(request->url);
        doubt->headers = headers;
        doubt->headers_count = request->headers.len;
    } else if (effect->tag == IS(EFFECT_AGENT_TOOL)) {
        doubt->called = text_of(effect->val.agent_tool.name);
        doubt->passed = text_of(effect->val.agent_tool.arguments);
    }
}

void exports_portcullis_plugin_reconcile_reconcile(exports_portcullis_plugin_reconcile_call_context_t *context, pcwit_string_t *name,
                                                   pcwit_string_t *arguments, exports_portcullis_plugin_reconcile_effect_in_doubt_t *in_doubt,
                                                   exports_portcullis_plugin_reconcile_verdict_t *verdict) {
    pc_call call = call_of(context);
    pc_doubt doubt = {
        .call = &call, .tool = text_of(*name), .arguments = text_of(*arguments), .step = text_of(in_doubt->step), .name = text_of(in_doubt->name)};
    set_effect(&doubt, &in_doubt->effect);
    pc_verdict found = pc_reconcile(&doubt);
    *verdict = (exports_portcullis_plugin_reconcile_verdict_t){.tag = IS(VERDICT_UNKNOWN)};
    if (found.done == PC_NOT_DONE) verdict->tag = IS(VERDICT_NOT_DONE);
    /* Of anything else nobody can say what came of it. */
    if (found.done != PC_DONE || doubt.effect == PC_EFFECT_OTHER) return;
    if (doubt.effect == PC_EFFECT_HTTP && (found.status < 100 || found.status > 599)) return;
    verdict->tag = IS(VERDICT_DONE);
    exports_portcullis_plugin_reconcile_answer_t *answer = &verdict->val.done;
    if (doubt.effect == PC_EFFECT_HTTP) {
        answer->tag = IS(ANSWER_HTTP);
        answer->val.http.status = (uint16_t)found.status;
        answer->val.http.body = wit_bytes(found.body);
        answer->val.http.headers.len = found.headers_count;
        answer->val.http.headers.ptr = pc_alloc_items(found.headers_count, sizeof *answer->val.http.headers.ptr);
        for (size_t i = 0; i < found.headers_count; i++) {
            answer->val.http.headers.ptr[i].f0 = wit_text(found.headers[i].name);
            answer->val.http.headers.ptr[i].f1 = wit_bytes(found.headers[i].value);
        }
    } else {
        answer->tag = IS(ANSWER_AGENT_TOOL);
        answer->val.agent_tool = (portcullis_plugin_types_tool_result_t){
            .content = {wit_contents_of(found.result.content, found.result.count), found.result.count},
            .structured = wit_maybe(found.result.structured),
            .is_error = found.result.is_error,
        };
    }
}
