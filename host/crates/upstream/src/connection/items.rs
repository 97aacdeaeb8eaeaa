//! Lists what a server offers besides tools: resources, resource templates and prompts.

use crate::connection::pages::{ItemPage, ListReader, ReadEntry};
use crate::connection::shared::ServerConnection;
use crate::listed::list_kind::ListKind;
use crate::listed::listed_item::{key_of, read_item};
use crate::listed::listed_members::text_length;
use plugins::catalog::ListedItem;
use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams,
    ServerResult,
};
use rmcp::service::ServiceError;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// The time limit for one list. It is shorter than for tools, because at the start the tools wait for these lists.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct ItemReader<'a> {
    pub(crate) server: &'a str,
    pub(crate) connection: &'a ServerConnection,
    pub(crate) kind: ListKind,
}

impl ListReader for ItemReader<'_> {
    type Entry = Value;
    type Item = Arc<ListedItem>;

    fn kind(&self) -> ListKind {
        self.kind
    }

    fn time_limit(&self) -> Duration {
        LIST_TIMEOUT
    }

    async fn page(&self, cursor: Option<String>) -> Result<ItemPage<Value>, ServiceError> {
        let mut page = PaginatedRequestParams::default();
        page.cursor = cursor;
        let (request, member) = match self.kind {
            ListKind::Resources => {
                (ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page)), "resources")
            }
            ListKind::Templates => {
                let request = ListResourceTemplatesRequest::with_param(page);
                (ClientRequest::ListResourceTemplatesRequest(request), "resourceTemplates")
            }
            ListKind::Prompts => (ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page)), "prompts"),
            // Tools are read elsewhere.
            ListKind::Tools => return Err(ServiceError::UnexpectedResponse),
        };
        // The transport gives lists in this form, so that the library does not parse them.
        let ServerResult::CustomResult(mut result) = self.connection.peer.send_request(request).await? else {
            return Err(ServiceError::UnexpectedResponse);
        };
        let list = &mut result.0["list"];
        let Some(Value::Array(entries)) = list.get_mut(member).map(Value::take) else {
            return Err(ServiceError::UnexpectedResponse);
        };
        Ok((entries, list["nextCursor"].as_str().map(str::to_owned)))
    }

    fn name(entry: &Value) -> String {
        let names = ["uri", "uriTemplate", "name"];
        names.iter().find_map(|member| entry[*member].as_str()).unwrap_or_default().to_owned()
    }

    fn size(entry: &Value) -> usize {
        text_length(entry)
    }

    async fn read(&self, entry: Value) -> Result<ReadEntry<Arc<ListedItem>>, String> {
        let item = read_item(self.server, self.kind, entry)?;
        Ok(ReadEntry { key: key_of(&item).to_owned(), item: Arc::new(item), warnings: Vec::new() })
    }
}
