//! Lists a server's tools.

use crate::connection::pages::{ItemPage, ListReader, ReadEntry};
use crate::connection::shared::ServerConnection;
use crate::listed::list_kind::ListKind;
use crate::listed::listed_tool::{ListedTool, read_tool, size_of};
use futures::FutureExt as _;
use plugins::offer::PluginTool;
use policy::{PluginId, Principal, Side};
use rmcp::model as m;
use rmcp::service::ServiceError;
use runtime::engine::run_in_pool;
use std::sync::Arc;
use std::time::Duration;

const LIST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct ToolReader<'a> {
    pub(crate) server: &'a str,
    pub(crate) connection: &'a ServerConnection,
}

impl ListReader for ToolReader<'_> {
    type Entry = m::Tool;
    type Item = Arc<PluginTool>;

    fn kind(&self) -> ListKind {
        ListKind::Tools
    }

    fn time_limit(&self) -> Duration {
        LIST_TIMEOUT
    }

    async fn page(&self, cursor: Option<String>) -> Result<ItemPage<m::Tool>, ServiceError> {
        let mut page = m::PaginatedRequestParams::default();
        page.cursor = cursor;
        let listed = self.connection.peer.list_tools(Some(page)).await?;
        Ok((listed.tools, listed.next_cursor))
    }

    fn name(tool: &m::Tool) -> String {
        tool.name.to_string()
    }

    fn size(tool: &m::Tool) -> usize {
        size_of(tool)
    }

    async fn read(&self, tool: m::Tool) -> Result<ReadEntry<Arc<PluginTool>>, String> {
        let (server, follows_tasks) = (self.server.to_owned(), self.connection.has_tasks);
        let owner = (Principal::local(), PluginId { side: Side::Server, name: self.server.into() });
        // Compiling a schema may take milliseconds, so tools are read one by one in the pool, beside the calls of others.
        let reading = async move { read_tool(&server, tool, follows_tasks) };
        let ListedTool { tool, warnings } = run_in_pool(owner, reading.boxed()).await?;
        Ok(ReadEntry { key: tool.tool.name.clone(), item: tool, warnings })
    }
}
