//! `completion/complete`.

use super::call_result::{self, Remedies};
use super::{loading, prompts};
use crate::request_context::call_context;
use crate::server_context::ServerContext;
use crate::tasks::TASK_URI;
use platform::telemetry::printable;
use plugins::calls::{CallAnswer, CallRequest, CallTarget, PluginCall};
use plugins::catalog::{Catalog, Plugin};
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
        Some(name) => catalog.prompt(name).is_some(),
        None => catalog.template(reference.as_resource_uri().unwrap_or_default()).is_some(),
    };
    loading::wait_until(server, known, &context).await;
    let principal = server.principal(&context);
    let Some((plugin, of, names)) = find_completer(server, &principal, &request.r#ref)? else {
        // Published prompts and the host's own templates have no suggestions.
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
    // Sorted, so that the guest sees equal requests as equal; only arguments that it knows.
    let mut given: Vec<_> = given.into_iter().filter(|(name, _)| names.contains(name)).collect();
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
    let target = CallTarget::Plugin(plugin, PluginCall::Completion(query));
    let finished = server
        .runner
        .run(target, CallRequest { context: call, link, parent: None, journal: CallJournal::default() })
        .await;
    let completion = match finished.result {
        Ok(CallAnswer::Completion(completion)) => completion,
        Ok(_) => return call_result::unexpected_result(),
        Err(error) => return Err(call_result::to_error(&error, &finished.usage, remedies)),
    };
    let mut info = CompletionInfo::default();
    info.values = completion.values;
    info.total = completion.total.map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    info.has_more = Some(completion.has_more);
    let mut result = CompleteResult::new(info);
    result.meta = Some(call_result::with_usage(&finished.usage, meta));
    Ok(result)
}

/// The plugin that suggests values, what it suggests them for, and the names of all arguments.
type Completer = (Arc<Plugin>, CompletionTarget, Vec<String>);

/// None for what exists but has no suggestions.
fn find_completer(
    server: &ServerContext,
    principal: &Principal,
    reference: &Reference,
) -> Result<Option<Completer>, ErrorData> {
    let catalog = server.catalog.snapshot();
    if let Some(name) = reference.as_prompt_name() {
        if let Some(exposed) = catalog.prompt(name) {
            let prompt = exposed.item();
            let names = prompt.arguments.iter().map(|argument| argument.name.clone()).collect();
            return Ok(Some((exposed.plugin().clone(), CompletionTarget::Prompt(prompt.name.clone()), names)));
        }
        let published = server.principal_store.list_prompts(principal).iter().any(|prompt| prompt.name == name);
        return if published { Ok(None) } else { prompts::find_prompt(server, name).map(|_| None) };
    }
    let text = reference.as_resource_uri().unwrap_or_default();
    if let Some(exposed) = catalog.template(text) {
        let names = exposed.item().pattern.variables().map(str::to_owned).collect();
        return Ok(Some((exposed.plugin().clone(), CompletionTarget::Template(text.to_owned()), names)));
    }
    if TEMPLATES.iter().any(|template| template.uri == text) || text.starts_with(TASK_URI) {
        return Ok(None);
    }
    let text =
        format!("unknown resource template `{}`; resources/templates/list lists the available ones", printable(text));
    Err(ErrorData::invalid_params(text, None))
}
