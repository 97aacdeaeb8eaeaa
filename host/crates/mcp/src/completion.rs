//! `completion/complete`.

use super::server::Shared;
use super::{prompts, respond, result};
use platform::telemetry::printable;
use plugins::registry::{CallRequest, Plugin};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::{Completing, CompletionQuery, NoClient, NoSink};
use services::shelf::TEMPLATES;
use std::sync::Arc;

pub(super) async fn complete(
    server: &Shared,
    request: CompleteRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let principal = server.principal(&context);
    let Some((plugin, of, names)) = find(server, &principal, &request.r#ref)? else {
        // What a call published, and what the host makes, has no suggestions.
        let mut result = CompleteResult::default();
        result.meta = Some(server.meta(None));
        return Ok(result);
    };
    let argument = request.argument;
    if !names.contains(&argument.name) {
        let text = format!("there is no argument `{}`; there are: {}", printable(&argument.name), names.join(", "));
        return Err(ErrorData::invalid_params(text, None));
    }
    let given = request.context.and_then(|context| context.arguments).unwrap_or_default();
    // Sorted, so that the same question is the same to the guest; and only what it knows.
    let mut given: Vec<_> = given.into_iter().filter(|(name, _)| names.contains(name)).collect();
    given.sort();
    let query = CompletionQuery { of, argument: argument.name, value: argument.value, context: given };
    let about = respond::about(&principal, &context)?;
    let meta = server.meta(about.correlation_id.as_deref());
    // The protocol has no questions here, and a person who types waits for nothing but the answer.
    let (sink, client) = (Arc::new(NoSink), Arc::new(NoClient));
    let (agent, cancel) = (server.host_only.clone(), context.ct.clone());
    let call = CallRequest { context: about, sink, agent, client, cancel, steering: Default::default(), parent: None };
    let finished = server.runner.complete(&plugin, query, call).await;
    let completion = finished.result.map_err(|error| result::refused(&error, &finished.usage))?;
    let mut info = CompletionInfo::default();
    info.values = completion.values;
    info.total = completion.total.map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    info.has_more = Some(completion.has_more);
    let mut result = CompleteResult::new(info);
    result.meta = Some(result::cost(&finished.usage, meta));
    Ok(result)
}

/// Who suggests values for an argument, its own name for what has it, and the names of all arguments.
type Found = (Arc<Plugin>, Completing, Vec<String>);

/// None for what is there but nobody suggests anything for.
fn find(server: &Shared, principal: &Principal, reference: &Reference) -> Result<Option<Found>, ErrorData> {
    let catalog = server.catalog.now();
    if let Some(name) = reference.as_prompt_name() {
        if let Some(exposed) = catalog.prompt(name) {
            let prompt = exposed.item();
            let names = prompt.arguments.iter().map(|argument| argument.name.clone()).collect();
            return Ok(Some((exposed.plugin().clone(), Completing::Prompt(prompt.name.clone()), names)));
        }
        let published = server.shelf.list_prompts(principal).iter().any(|prompt| prompt.name == name);
        return if published { Ok(None) } else { prompts::find(server, name).map(|_| None) };
    }
    let text = reference.as_resource_uri().unwrap_or_default();
    if let Some(exposed) = catalog.template(text) {
        let names = exposed.item().pattern.variables().map(str::to_owned).collect();
        return Ok(Some((exposed.plugin().clone(), Completing::Template(text.to_owned()), names)));
    }
    if TEMPLATES.iter().any(|template| template.uri == text) {
        return Ok(None);
    }
    let text =
        format!("unknown resource template `{}`; resources/templates/list names those there are", printable(text));
    Err(ErrorData::invalid_params(text, None))
}
