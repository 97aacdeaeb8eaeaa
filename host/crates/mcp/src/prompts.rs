//! `prompts/list`, `prompts/get`.

use super::content::{block, role};
use super::respond::{self, Request, Response};
use super::round::{Outcome, Output, is_stateless};
use super::server::Shared;
use super::{page, published, result};
use platform::telemetry::printable;
use plugins::registry::{CallRequest, Exposed};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResponse, GetPromptResult, JsonObject, ListPromptsResult,
    PaginatedRequestParams, PromptMessage,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::Prompt;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn list(
    server: &Shared,
    principal: &Principal,
    page: Option<PaginatedRequestParams>,
) -> Result<ListPromptsResult, ErrorData> {
    let mut prompts = server.lists().prompts.clone();
    prompts.extend(server.shelf.list_prompts(principal).into_iter().map(published::prompt));
    // Stable, so that what a plugin offers comes before what one published under the same name, and hides it.
    prompts.sort_by(|a, b| a.name.cmp(&b.name));
    prompts.dedup_by(|second, first| second.name == first.name);
    let page = page::of("prompts", &prompts, |prompt| &prompt.name, page)?;
    let mut result = ListPromptsResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    // Principals may see different ones.
    result.cache_scope = Some(CacheScope::Private);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(super) async fn get(
    server: &Arc<Shared>,
    request: GetPromptRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let given = request.arguments.unwrap_or_default();
    if server.catalog.now().prompt(&request.name).is_none()
        && let Some(filled) = server.shelf.get_prompt(&server.principal(&context), &request.name, &texts(&given))
    {
        let filled = filled.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        return Ok(GetPromptResponse::Complete(published::filled(filled, server.meta(None))));
    }
    let exposed = find(server, &request.name)?;
    let arguments = checked(exposed.item(), given.clone())?;
    let plugin = exposed.plugin().clone();
    let asked = Request {
        method: "prompts/get",
        target: &request.name,
        arguments: given.into(),
        plugin: respond::By::Plugin(&plugin),
        state: request.request_state,
        given: request.input_responses,
    };
    let (running, stateless) = (server.clone(), is_stateless(&context));
    let make = move |_, call| run(running, exposed, arguments, stateless, call);
    match respond::call(server, asked, &context, make).await? {
        Response::Complete(Output::Prompt(result)) => Ok(GetPromptResponse::Complete(result)),
        Response::Complete(_) => respond::mistaken(),
        Response::InputRequired(result) => Ok(GetPromptResponse::InputRequired(result)),
    }
}

/// One prompt being filled in, whatever requests it is served under.
async fn run(
    server: Arc<Shared>,
    exposed: Exposed<Prompt>,
    arguments: Vec<(String, String)>,
    stateless: bool,
    call: CallRequest,
) -> Outcome {
    let meta = server.meta_of(&call.context);
    let finished = server.runner.prompt(exposed.plugin(), &exposed.item().name, arguments, call).await;
    respond::lacking(stateless, &finished)?;
    let prompt = finished.result.map_err(|error| result::refused(&error, &finished.usage))?;
    let messages = prompt.messages.into_iter().map(|it| PromptMessage::new(role(it.role), block(it.content)));
    let mut result = GetPromptResult::new(messages.collect());
    result.description = prompt.description;
    result.meta = Some(result::cost(&finished.usage, meta));
    Ok(Output::Prompt(result))
}

/// A prompt by its exposed name.
pub(super) fn find(server: &Shared, name: &str) -> Result<Exposed<Prompt>, ErrorData> {
    server.catalog.now().prompt(name).cloned().ok_or_else(|| {
        let text = format!("unknown prompt `{}`; prompts/list names those there are", printable(name));
        ErrorData::invalid_params(text, None)
    })
}

/// The arguments that are text.
fn texts(given: &JsonObject) -> BTreeMap<String, String> {
    given.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// What the client gave, in the prompt's own order: only arguments it has, all that it needs, and text only.
fn checked(prompt: &Prompt, mut given: JsonObject) -> Result<Vec<(String, String)>, ErrorData> {
    let refuse = |text: String| Err(ErrorData::invalid_params(text, None));
    let mut arguments = Vec::new();
    for argument in &prompt.arguments {
        match given.remove(&argument.name) {
            Some(Value::String(text)) => arguments.push((argument.name.clone(), text)),
            Some(_) => return refuse(format!("the argument `{}` must be text", argument.name)),
            None if argument.required => return refuse(format!("the argument `{}` is missing", argument.name)),
            None => {}
        }
    }
    match given.keys().next() {
        Some(unknown) => refuse(format!("the prompt has no argument `{}`", printable(unknown))),
        None => Ok(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::PromptArgument;
    use serde_json::json;

    #[test]
    fn arguments_are_checked_before_the_guest_runs() {
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), title: None, description: None, required };
        let arguments = vec![argument("b", true), argument("a", false)];
        let prompt = Prompt { name: "p".into(), title: None, description: None, arguments, icons: vec![] };
        let check = |given: Value| checked(&prompt, given.as_object().cloned().unwrap_or_default());
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(check(json!({"a": "1", "b": "2"})).unwrap(), [pair("b", "2"), pair("a", "1")]);
        assert_eq!(check(json!({"b": ""})).unwrap(), [pair("b", "")]);
        for bad in [json!({}), json!({"a": "1"}), json!({"b": 2}), json!({"b": "2", "c": "3"})] {
            assert_eq!(check(bad.clone()).unwrap_err().code.0, -32602, "{bad}");
        }
    }
}
