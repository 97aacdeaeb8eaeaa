//! `prompts/list`, `prompts/get`.

use super::call_result::{CallResult, unexpected_result};
use super::dispatch::{TargetRequest, dispatch};
use super::loading;
use super::round_response::RoundResponse;
use crate::listing::{page, published};
use crate::server_context::ServerContext;
use crate::subscriptions::updates::ListReading;
use platform::telemetry::printable;
use plugins::calls::{CallTarget, PluginCall};
use plugins::catalog::{Catalog, ItemRequest};
use policy::{DistinctNames, Principal};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptRequestParams, GetPromptResponse, JsonObject, ListPromptsResult, PaginatedRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::Prompt;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) async fn list(
    server: &ServerContext,
    principal: &Principal,
    page: Option<PaginatedRequestParams>,
    reading: &ListReading<'_>,
) -> Result<ListPromptsResult, ErrorData> {
    let lists = server.complete_lists().await;
    reading.note(lists.catalog.number(), page.as_ref());
    let (mut prompts, mut names) = (lists.prompts.clone(), DistinctNames::default());
    for (name, entry) in lists.catalog.prompts() {
        // The catalog has no prompts that could be mistaken for each other.
        let _ = names.insert(name, &entry.plugin().id().name.to_string());
    }
    for (name, prompt) in lists.catalog.upstream_prompts() {
        let _ = names.insert(name, &prompt.server.id.name.to_string());
    }
    // A published prompt is hidden if it could be mistaken for one of a plugin or server.
    let published = server.principal_store.list_prompts(principal).into_iter();
    prompts.extend(published.filter(|it| names.insert(&it.name, &it.source.plugin).is_ok()).map(published::to_prompt));
    prompts.sort_by(|a, b| a.name.cmp(&b.name));
    let page = page::paginate("prompts", &prompts, |prompt| &prompt.name, page)?;
    let mut result = ListPromptsResult::with_all_items(page.items).with_ttl_ms(page::TTL_MS);
    // Principals may see different prompts.
    result.cache_scope = Some(CacheScope::Private);
    result.next_cursor = page.next;
    result.meta = Some(server.meta(None));
    Ok(result)
}

pub(crate) async fn get(
    server: &Arc<ServerContext>,
    request: GetPromptRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    loading::wait_until(server, |catalog| has_prompt(catalog, &request.name), &context).await;
    let given = request.arguments.unwrap_or_default();
    let catalog = server.catalog.snapshot();
    if !has_prompt(&catalog, &request.name)
        && let Some(filled) =
            server.principal_store.get_prompt(&server.principal(&context), &request.name, &text_arguments(&given))
    {
        let filled = filled.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        return Ok(GetPromptResponse::Complete(published::to_prompt_result(filled, server.meta(None))));
    }
    let request = TargetRequest {
        method: "prompts/get",
        name: &request.name,
        target: find(&catalog, &request.name, given)?,
        request_state: request.request_state,
        input_responses: request.input_responses,
    };
    match dispatch(server, request, &context).await? {
        RoundResponse::Complete(CallResult::Prompt(result)) => Ok(GetPromptResponse::Complete(result)),
        RoundResponse::Complete(_) | RoundResponse::Task(_) => unexpected_result(),
        RoundResponse::InputRequired(result) => Ok(GetPromptResponse::InputRequired(result)),
    }
}

fn has_prompt(catalog: &Catalog, name: &str) -> bool {
    catalog.prompt(name).is_some() || catalog.upstream_prompt(name).is_some()
}

/// The prompt of a plugin or of an upstream server.
fn find(catalog: &Catalog, name: &str, given: JsonObject) -> Result<CallTarget, ErrorData> {
    if let Some(prompt) = catalog.upstream_prompt(name) {
        let item = ItemRequest::Prompt { name: prompt.item.key.clone(), arguments: only_text(given)? };
        return Ok(CallTarget::UpstreamItem(prompt.server.clone(), item));
    }
    let Some(exposed) = catalog.prompt(name) else { return Err(unknown_prompt(catalog, name)) };
    let arguments = check_arguments(exposed.item(), given)?;
    let item = ItemRequest::Prompt { name: exposed.item().name.clone(), arguments };
    Ok(CallTarget::Plugin(exposed.plugin().clone(), PluginCall::Item(item)))
}

pub(super) fn unknown_prompt(catalog: &Catalog, name: &str) -> ErrorData {
    let text = match catalog.missing_upstream(name) {
        Some((server, reason)) => format!(
            "the server `{server}` is not connected at the moment ({reason}), so its prompts are not known; try again"
        ),
        None => format!("unknown prompt `{}`; prompts/list lists the available ones", printable(name)),
    };
    ErrorData::invalid_params(text, None)
}

/// The protocol allows only text arguments. Which arguments a server's prompt has is checked by that server.
fn only_text(given: JsonObject) -> Result<Vec<(String, String)>, ErrorData> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        _ => {
            let text = format!("the argument `{}` must be text", printable(&name));
            Err(ErrorData::invalid_params(text, None))
        }
    };
    given.into_iter().map(text).collect()
}

/// The arguments that are text.
fn text_arguments(given: &JsonObject) -> BTreeMap<String, String> {
    given.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// The arguments in the prompt's order. Unknown, missing and non-text arguments are refused.
fn check_arguments(prompt: &Prompt, mut given: JsonObject) -> Result<Vec<(String, String)>, ErrorData> {
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
    fn unknown_missing_and_non_text_arguments_are_refused() {
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), title: None, description: None, required };
        let arguments = vec![argument("b", true), argument("a", false)];
        let prompt = Prompt { name: "p".into(), title: None, description: None, arguments, icons: vec![] };
        let check = |given: Value| check_arguments(&prompt, given.as_object().cloned().unwrap_or_default());
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(check(json!({"a": "1", "b": "2"})).unwrap(), [pair("b", "2"), pair("a", "1")]);
        assert_eq!(check(json!({"b": ""})).unwrap(), [pair("b", "")]);
        for bad in [json!({}), json!({"a": "1"}), json!({"b": 2}), json!({"b": "2", "c": "3"})] {
            assert_eq!(check(bad.clone()).unwrap_err().code.0, -32602, "{bad}");
        }
    }
}
