//! Turns an error that a guest reports into the text or the typed error that the caller gets.

use crate::catalog::Plugin;
use platform::telemetry::printable;
use policy::{Access, Capability, Denial, LineageError};
use runtime::engine::CallError;
use runtime::imports::wasi::RefusedPath;
use runtime::imports::{BudgetKind, CallImports, Exhaustion, GuestDenial, ToolError};

/// The text of a guest's error, or a typed error where the host knows more than the guest.
pub(in crate::calls) fn to_error_text(
    plugin: &Plugin,
    imports: &CallImports,
    error: ToolError,
) -> Result<String, CallError> {
    let text = Ok::<String, CallError>;
    match error {
        ToolError::InvalidArguments(reason) => Err(CallError::InvalidArguments { reason }),
        ToolError::Cancelled => Err(CallError::Cancelled),
        ToolError::Unsupported(what) => Err(CallError::Unsupported { what }),
        // Typed only if the limit on reverse calls is really reached: other calls, such as those of a model, have limits too.
        ToolError::Exhausted(Exhaustion { budget: BudgetKind::Calls, limit })
            if u64::from(imports.agent_tools.calls()) >= limit =>
        {
            Err(lineage_error(LineageError::Calls, limit))
        }
        ToolError::Exhausted(Exhaustion { budget: BudgetKind::Depth, limit }) => {
            Err(lineage_error(LineageError::Depth, limit))
        }
        ToolError::Exhausted(Exhaustion { budget, limit }) => {
            text(format!("the plugin ran out of {}: the limit is {limit}", budget.name()))
        }
        ToolError::Denied(denial) => match to_denial(plugin, imports, &denial) {
            Some(error) => Err(error),
            // The guest names a grant that does not exist, or one that it has.
            None => text(format!("denied: {} `{}`", printable(&denial.capability), printable(&denial.target))),
        },
        ToolError::Failed(message) => text(match note_of_failure(plugin, imports, &message) {
            Some(note) => format!("{message}\n{note}"),
            None => message,
        }),
    }
}

/// A note with what the host knows of a failure: the path or the request that the guest was refused.
pub(in crate::calls) fn note_of_failure(plugin: &Plugin, imports: &CallImports, message: &str) -> Option<String> {
    let path_denial = |refused: &RefusedPath| plugin.authority.path_refused(&refused.path, refused.access);
    let denial = imports.refused_path.as_ref().map(path_denial).or_else(|| imports.refused_request.clone());
    denial.or_else(|| unrequested_files(imports, message)).map(|denial| format!("({denial})"))
}

/// The file accesses that the call was refused. Only if its plugin requests files: otherwise nobody could grant them.
pub(in crate::calls) fn refused_files(imports: &CallImports) -> Vec<Denial> {
    let authority = &imports.scope.authority;
    let paths = if authority.requests_files() { imports.files.ungranted().topmost() } else { Vec::new() };
    let inside = imports.refused_path.iter().filter(|refused| !imports.files.ungranted().contains(&refused.path));
    let inside = inside.map(|refused| (&*refused.path, refused.access));
    paths.into_iter().chain(inside).map(|(path, access)| authority.path_refused(path, access)).collect()
}

/// The denial for a file that a guest did not find although its plugin requests no files. Such a guest has no directory, so its
/// own library reports that there is no such file, and the host never learns the path.
fn unrequested_files(imports: &CallImports, message: &str) -> Option<Denial> {
    // The last text lacks its first letter, which is a capital in C and a small one in Go.
    const NOT_FOUND: [&str; 4] =
        ["(os error 44)", "[Errno 44]", "pre-opened file descriptor", "o such file or directory"];
    let authority = &imports.scope.authority;
    if authority.requests_files() || !NOT_FOUND.iter().any(|text| message.contains(text)) {
        return None;
    }
    let denial = Denial::requests_no_files("any file");
    authority.record_denial(&denial);
    Some(denial)
}

fn lineage_error(kind: fn(u32) -> LineageError, limit: u64) -> CallError {
    CallError::Lineage(kind(u32::try_from(limit).unwrap_or(u32::MAX)))
}

/// The host's own denial for what the guest reports as refused. The remedy never comes from the guest, which could make an
/// operator paste any command.
fn to_denial(plugin: &Plugin, imports: &CallImports, denial: &GuestDenial) -> Option<CallError> {
    // Made printable, because it becomes part of the host's own sentence.
    let target = printable(&denial.target);
    match denial.capability.as_str() {
        "filesystem" => {
            let access = imports.refused_path.as_ref().map_or(Access::Read, |refused| refused.access);
            Some(CallError::Denied(plugin.authority.path_refused(&target, access)))
        }
        // Only the host knows which hop of a redirect or which secret was refused.
        "http" | "secrets" => imports.refused_request.clone().map(CallError::Denied),
        // A capability without a target of its own is parsed from its key alone.
        key => {
            let used = Capability::parse(&format!("{key} {target}")).or_else(|_| Capability::parse(key)).ok();
            let denied = plugin.authority.decide(&used.filter(|used| used.key() == key)?).err();
            denied.map(CallError::Denied)
        }
    }
}
