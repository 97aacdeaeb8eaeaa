//! `completion/complete`.

use super::call_result::{self, Remedies};
use super::{loading, prompts};
use crate::request_context::call_context;
use crate::server_context::ServerContext;
use crate::tasks::TASK_URI;
use platform::telemetry::printable;
use plugins::calls::{CallAnswer, CallRequest, CallTarget, PluginCall};
use plugins::catalog::{Catalog, ItemRequest, Plugin, UpstreamServer};
use policy::Principal;
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::HeldResources;
use runtime::imports::{ClientLink, CompletionQuery, CompletionTarget, NoClient, NoSink};
use runtime::journal::CallJournal;
use services::principal_store::TEMPLATES;
use std::sync::Arc;

pub(crate) async fn complete(
    server: &ServerContext,
    request: CompleteRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let reference = &request.r#ref;
    let known = |catalog: &Catalog| match reference.as_prompt_name() {
        Some(name) => catalog.prompt(name).is_some() || catalog.upstream_prompt(name).is_some(),
        None => {
            let template = reference.as_resource_uri().unwrap_or_default();
            catalog.template(template).is_some() || catalog.upstream_template(template).is_some()
        }
    };
    loading::wait_until(server, known, &context).await;
    let principal = server.principal(&context);
    let Some((completer, of)) = find_completer(server, &principal, &request.r#ref)? else {
        // Published prompts and the host's own templates have no suggestions.
        let mut result = CompleteResult::default();
        result.meta = Some(server.meta(None));
        return Ok(result);
    };
    let argument = request.argument;
    let given = request.context.and_then(|context| context.arguments).unwrap_or_default();
    let mut given: Vec<_> = given.into_iter().collect();
    if let Completer::Plugin(_, names) = &completer {
        if !names.contains(&argument.name) {
            let text = format!("there is no argument `{}`; there are: {}", printable(&argument.name), names.join(", "));
            return Err(ErrorData::invalid_params(text, None));
        }
        // The guest gets only the arguments that it knows.
        given.retain(|(name, _)| names.contains(name));
    }
    // They are sorted, so that equal requests compare as equal.
    given.sort();
    let query = CompletionQuery { of, argument: argument.name, value: argument.value, context: given };
    let call = call_context(&principal, &context)?;
    let remedies = Remedies::from_context(&context);
    let meta = server.meta(call.correlation_id.as_deref());
    // The protocol has no questions or notifications for completions.
    let link = ClientLink {
        sink: Arc::new(NoSink),
        client: NoClient::shared(),
        agent: server.host_tools.clone(),
        steering: None,
        cancel: context.ct.clone(),
        held: HeldResources::default(),
        fuel: None,
    };
    let item = ItemRequest::Completion(query);
    let target = match completer {
        Completer::Plugin(plugin, _) => CallTarget::Plugin(plugin, PluginCall::Item(item)),
        Completer::Server(server) => CallTarget::UpstreamItem(server, item),
    };
    let finished = server
        .runner
        .run(target, CallRequest { context: call, link, parent: None, journal: CallJournal::default() })
        .await;
    let completion = match finished.result {
        Ok(CallAnswer::Completion(completion)) => completion,
        Ok(_) => return call_result::unexpected_result(),
        Err(error) => {
            let error = call_result::to_error(&error, &finished.usage, remedies);
            let asks = call_result::asks_usage(&context);
            return Err(if asks { error } else { call_result::error_without_usage(error) });
        }
    };
    let mut info = CompletionInfo::default();
    info.values = completion.values;
    info.total = completion.total.map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    info.has_more = Some(completion.has_more);
    let mut result = CompleteResult::new(info);
    let mut meta = match call_result::asks_usage(&context) {
        true => call_result::with_usage(&finished.usage, meta),
        false => meta,
    };
    meta.0.extend(finished.meta);
    result.meta = Some(meta);
    Ok(result)
}

/// The source of suggestions.
enum Completer {
    /// The plugin, with the names of all arguments.
    Plugin(Arc<Plugin>, Vec<String>),
    /// The server, which knows the arguments itself.
    Server(Arc<UpstreamServer>),
}

/// The source of suggestions, and what they are for. None if that exists but has no suggestions.
fn find_completer(
    server: &ServerContext,
    principal: &Principal,
    reference: &Reference,
) -> Result<Option<(Completer, CompletionTarget)>, ErrorData> {
    let catalog = server.catalog.snapshot();
    if let Some(name) = reference.as_prompt_name() {
        if let Some(exposed) = catalog.prompt(name) {
            let prompt = exposed.item();
            let names = prompt.arguments.iter().map(|argument| argument.name.clone()).collect();
            let completer = Completer::Plugin(exposed.plugin().clone(), names);
            return Ok(Some((completer, CompletionTarget::Prompt(prompt.name.clone()))));
        }
        if let Some(prompt) = catalog.upstream_prompt(name) {
            let completer = Completer::Server(prompt.server.clone());
            return Ok(Some((completer, CompletionTarget::Prompt(prompt.item.key.clone()))));
        }
        let published = server.principal_store.list_prompts(principal).iter().any(|prompt| prompt.name == name);
        return if published { Ok(None) } else { Err(prompts::unknown_prompt(&catalog, name)) };
    }
    let text = reference.as_resource_uri().unwrap_or_default();
    if let Some(exposed) = catalog.template(text) {
        let names = exposed.item().pattern.variables().map(str::to_owned).collect();
        let completer = Completer::Plugin(exposed.plugin().clone(), names);
        return Ok(Some((completer, CompletionTarget::Template(text.to_owned()))));
    }
    if let Some(template) = catalog.upstream_template(text) {
        let completer = Completer::Server(template.server.clone());
        return Ok(Some((completer, CompletionTarget::Template(template.item.key.clone()))));
    }
    if TEMPLATES.iter().any(|template| template.uri == text) || text.starts_with(TASK_URI) {
        return Ok(None);
    }
    let text =
        format!("unknown resource template `{}`; resources/templates/list lists the available ones", printable(text));
    Err(ErrorData::invalid_params(text, None))
}
