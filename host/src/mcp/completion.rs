//! `completion/complete`.

use super::server::Shared;
use super::{calling, prompts, result};
use crate::imports::{Completing, CompletionQuery};
use crate::registry::Plugin;
use crate::telemetry::printable;
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, Reference};
use rmcp::service::{RequestContext, RoleServer};
use std::sync::Arc;

pub(super) async fn complete(
    server: &Shared,
    request: CompleteRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CompleteResult, ErrorData> {
    let (plugin, of, names) = find(server, &request.r#ref)?;
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
    let (call, forward) = calling::request(server, &context)?;
    let running = server.runner.complete(&plugin, query, call);
    let finished = calling::beside(running, forward, &context.ct).await;
    let completion = finished.result.map_err(|error| result::refused(&error, &finished.usage))?;
    let mut info = CompletionInfo::default();
    info.values = completion.values;
    info.total = completion.total.map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    info.has_more = Some(completion.has_more);
    let mut result = CompleteResult::new(info);
    result.meta = Some(result::cost(&finished.usage, server.meta()));
    Ok(result)
}

/// Who suggests values for this, its own name for it, and the names of the arguments it has.
fn find(server: &Shared, reference: &Reference) -> Result<(Arc<Plugin>, Completing, Vec<String>), ErrorData> {
    if let Some(name) = reference.as_prompt_name() {
        let exposed = prompts::find(server, name)?;
        let prompt = exposed.item();
        let names = prompt.arguments.iter().map(|argument| argument.name.clone()).collect();
        return Ok((exposed.plugin().clone(), Completing::Prompt(prompt.name.clone()), names));
    }
    let text = reference.as_resource_uri().unwrap_or_default();
    let Some(exposed) = server.catalog.now().template(text).cloned() else {
        let text =
            format!("unknown resource template `{}`; resources/templates/list names those there are", printable(text));
        return Err(ErrorData::invalid_params(text, None));
    };
    let names = exposed.item().pattern.variables().map(str::to_owned).collect();
    Ok((exposed.plugin().clone(), Completing::Template(text.to_owned()), names))
}
