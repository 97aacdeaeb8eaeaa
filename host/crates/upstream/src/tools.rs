//! Lists a server's tools.

use crate::error::UpstreamError;
use crate::listed_tool::{ListedTool, read_tool, size_of};
use crate::peer_account::PeerAccount;
use crate::problems::Problems;
use crate::shared::Connection;
use crate::text::single_line;
use futures::FutureExt as _;
use plugins::offer::PluginTool;
use policy::{PluginId, Principal, Side};
use rmcp::model as m;
use runtime::engine::run_in_pool;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Tools of one server, and pages of its list. Bounds the memory and the time that a server can cost.
const MAX_TOOLS: usize = 512;
const MAX_PAGES: usize = 64;
/// Tools that are looked at, those that are left out among them. Bounds the time that a server can cost with tools that nobody
/// gets.
const MAX_CHECKED: usize = 2 * MAX_TOOLS;
/// Size of all definitions together, in bytes, those of tools that are left out among them.
const MAX_BYTES: usize = 8 << 20;
/// Size of all pages together as the server sends them, in bytes. Bounds what it can make this host read of which nothing is a tool.
const MAX_PAGE_BYTES: u64 = 16 << 20;
/// Time limit for the whole list.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// The tools of a server that can be used, and what is wrong with the others.
#[derive(Default)]
pub(super) struct ListedTools {
    pub(super) tools: Vec<Arc<PluginTool>>,
    pub(super) problems: Problems,
}

/// Lists the tools. Tools that cannot be used are left out.
pub(super) async fn list_tools(
    server: &str,
    connection: &Connection,
    account: &PeerAccount,
) -> Result<ListedTools, UpstreamError> {
    let failed = |what: String| UpstreamError::Malformed { server: server.to_owned(), what };
    let follows_tasks = connection.has_tasks;
    let listing = async {
        let (mut tools, mut names, mut cursor) = (Vec::new(), HashSet::new(), None::<String>);
        let (mut checked, mut bytes, mut problems) = (0, 0, Problems::default());
        let owner = || (Principal::local(), PluginId { side: Side::Server, name: server.into() });
        account.begin_list();
        for _ in 0..MAX_PAGES {
            let mut page = m::PaginatedRequestParams::default();
            page.cursor = cursor.take();
            let listed = connection.peer.list_tools(Some(page)).await;
            let listed = listed.map_err(|error| failed(single_line(&error.to_string())))?;
            for tool in listed.tools {
                let (name, reading) = (tool.name.to_string(), server.to_owned());
                checked += 1;
                bytes += size_of(&tool);
                if tools.len() >= MAX_TOOLS || checked > MAX_CHECKED || bytes > MAX_BYTES {
                    problems.cut(format!("the server has too many tools; only {} are used", tools.len()));
                    return Ok(ListedTools { tools, problems });
                }
                // A schema may take milliseconds: one after the other, and beside calls of others.
                match run_in_pool(owner(), async move { read_tool(&reading, tool, follows_tasks) }.boxed()).await {
                    Ok(ListedTool { tool, .. }) if !names.insert(tool.tool.name.clone()) => {
                        problems.warn(&format!("the tool `{}` is listed twice; the first one counts", tool.tool.name));
                    }
                    Ok(ListedTool { tool, warnings }) => {
                        warnings.iter().for_each(|warning| problems.warn(warning));
                        tools.push(tool);
                    }
                    Err(reason) => problems.lose(&name, &reason),
                }
            }
            match listed.next_cursor {
                Some(next) if !next.is_empty() => cursor = Some(next),
                _ => return Ok(ListedTools { tools, problems }),
            }
            if account.listed_bytes() > MAX_PAGE_BYTES {
                let used = tools.len();
                problems.cut(format!(
                    "the list of tools is larger than {MAX_PAGE_BYTES} bytes; only {used} tools are used"
                ));
                return Ok(ListedTools { tools, problems });
            }
        }
        problems.cut(format!("the list of tools has more than {MAX_PAGES} pages; only {} tools are used", tools.len()));
        Ok(ListedTools { tools, problems })
    };
    match tokio::time::timeout(LIST_TIMEOUT, listing).await {
        Ok(listed) => listed,
        Err(_) => Err(UpstreamError::Timeout { server: server.to_owned(), limit: LIST_TIMEOUT }),
    }
}
