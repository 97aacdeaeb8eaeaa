//! From the text of a server's message to the message: its memory is estimated before it is parsed, and it is parsed as the
//! type that it is. The library's own parser tries one type after the other, and copies the message for each.

use crate::api::error::UNREADABLE;
use crate::listed::listed_tool::LISTED_META;
use crate::server_input::peer_account::{PeerAccount, beginning};
use protocol::json_text::{member_of, memory_of};
use rmcp::model::{
    CallToolResult, CustomResult, ErrorCode, ErrorData, Icon, ListToolsResult, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Length of one message, in bytes. Bounds what a server that never ends its line makes us keep.
pub(super) const MAX_MESSAGE: usize = 16 << 20;
/// Memory of one message, in bytes. Bounds what many small values take in a message of that length.
const MAX_MEMORY: usize = 32 << 20;

/// The result of reading a text.
pub(super) enum Incoming {
    /// A message, and whether the library's own parser would read the same.
    Message(Box<ServerJsonRpcMessage>, bool),
    /// Nothing, or a message that cannot be read and is no answer; it is logged.
    Nothing,
    /// The beginning of a message.
    Incomplete,
}

/// A message, taken apart.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    /// A null error is not the same as none: the library's parser refuses a result beside it.
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'a, D: Deserializer<'a>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The members that distinguish the kinds of results.
#[derive(Deserialize)]
struct ResultShape<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(borrow)]
    resources: Option<&'a RawValue>,
    #[serde(borrow, rename = "resourceTemplates")]
    templates: Option<&'a RawValue>,
    #[serde(borrow)]
    prompts: Option<&'a RawValue>,
    #[serde(borrow)]
    contents: Option<&'a RawValue>,
}

/// Reads a message. If it is an unreadable answer, the caller that waits for it gets an error that says so.
pub(super) fn read(text: &[u8], account: &PeerAccount) -> Incoming {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text).trim_ascii();
    if text.is_empty() {
        return Incoming::Nothing;
    }
    let memory = memory_of(text);
    // Programs that are careless with encodings send single bytes of others.
    let lossy = String::from_utf8_lossy(text);
    if memory > MAX_MEMORY {
        let reason = format!("it would take {memory} bytes of memory, and at most {MAX_MEMORY} are allowed");
        return unreadable(&lossy, &reason, account);
    }
    match parse(&lossy, account) {
        Ok((message, is_as_sent)) => charge(message, is_as_sent, memory, &lossy, account),
        Err(error) if error.is_eof() => Incoming::Incomplete,
        Err(error) => unreadable(&lossy, &error.to_string(), account),
    }
}

/// Reads a text that must be a whole message.
pub(super) fn read_whole(text: &[u8], account: &PeerAccount) -> Incoming {
    match read(text, account) {
        Incoming::Incomplete => cut_off(text, account),
        incoming => incoming,
    }
}

/// The result for a text that ends before its message is complete.
pub(super) fn cut_off(text: &[u8], account: &PeerAccount) -> Incoming {
    unreadable(&String::from_utf8_lossy(text), "it ends too soon", account)
}

/// The message, and whether the library's own parser would read the same.
fn parse(text: &str, account: &PeerAccount) -> serde_json::Result<(ServerJsonRpcMessage, bool)> {
    let by_library = || serde_json::from_str(text).map(|message| (message, true));
    let Envelope { id, method: None, result, error } = serde_json::from_str(text)? else {
        return by_library();
    };
    let id = id.map(|id| serde_json::from_str::<RequestId>(id.get())).transpose()?;
    match (id, result, error) {
        (id, _, Some(error)) if error.get() != "null" => {
            Ok((ServerJsonRpcMessage::error(parse_error(error.get())?, id), false))
        }
        (Some(id), Some(result), error) => {
            let (result, is_as_sent) = parse_result(result.get(), account)?;
            Ok((ServerJsonRpcMessage::response(result, id), is_as_sent && error.is_none()))
        }
        _ => by_library(),
    }
}

fn parse_result(text: &str, account: &PeerAccount) -> serde_json::Result<(ServerResult, bool)> {
    let ResultShape { tools, content, structured, resources, templates, prompts, contents } =
        serde_json::from_str(text)?;
    if tools.is_some() {
        account.count_list(text.len() as u64);
        // The library's type has no member for how a tool is executed.
        if !text.contains("\"execution\"")
            && let Ok(list) = serde_json::from_str(text)
        {
            return Ok((ServerResult::ListToolsResult(list), true));
        }
        return mended_list(text).map(|list| (ServerResult::ListToolsResult(list), false));
    }
    if content.or(structured).is_some() {
        return serde_json::from_str::<CallToolResult>(text).map(|result| (ServerResult::CallToolResult(result), true));
    }
    if resources.or(templates).or(prompts).is_some() {
        account.count_list(text.len() as u64);
        // Each entry is read on its own later. Under another result type, the library does not parse the list.
        let list: Value = serde_json::from_str(text)?;
        let list = json!({ "resultType": LISTED_META, "list": list });
        return Ok((ServerResult::CustomResult(CustomResult(list)), false));
    }
    if contents.is_some() {
        return serde_json::from_str(text).map(|result| (ServerResult::ReadResourceResult(result), true));
    }
    serde_json::from_str(text).map(|result| (result, true))
}

/// Reads a list of tools of which some cannot be parsed: no tool hides the others, and no member the rest of its tool.
fn mended_list(text: &str) -> serde_json::Result<ListToolsResult> {
    let mut list: Value = serde_json::from_str(text)?;
    list.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten().for_each(mend_tool);
    serde_json::from_value(list)
}

/// Leaves out members whose type is not the protocol's, and notes what the library does not read.
fn mend_tool(tool: &mut Value) {
    if !tool.get("name").is_some_and(Value::is_string) {
        let unreadable = format!("it has no name: {}", beginning(&tool.to_string()));
        *tool = json!({ "name": "", "inputSchema": {}, "_meta": { LISTED_META: { "unreadable": unreadable } } });
        return;
    }
    let Some(members) = tool.as_object_mut() else { return };
    members.retain(|key, value| match key.as_str() {
        "title" | "description" => value.is_string(),
        "outputSchema" | "_meta" | "annotations" => value.is_object(),
        "icons" => Vec::<Icon>::deserialize(&*value).is_ok(),
        _ => true,
    });
    if let Some(Value::Object(hints)) = members.get_mut("annotations") {
        hints.retain(|key, value| if key == "title" { value.is_string() } else { value.is_boolean() });
    }
    if !members.get("inputSchema").is_some_and(Value::is_object) {
        members.insert("inputSchema".into(), json!({}));
    }
    if let Some(support) = members.get("execution").and_then(|execution| execution.get("taskSupport")).cloned() {
        members.entry("_meta").or_insert_with(|| json!({}))[LISTED_META] = json!({ "taskSupport": support });
    }
}

/// Parses an error, also one that is only a text.
fn parse_error(text: &str) -> serde_json::Result<ErrorData> {
    serde_json::from_str(text).or_else(|_| {
        let message = match serde_json::from_str(text)? {
            Value::String(message) => message,
            Value::Object(mut error) if error.get("message").is_some_and(Value::is_string) => {
                error.remove("message").and_then(|message| message.as_str().map(str::to_owned)).unwrap_or_default()
            }
            other => other.to_string(),
        };
        Ok(ErrorData::internal_error(message, None))
    })
}

/// A request counts until it is answered.
fn charge(
    message: ServerJsonRpcMessage,
    is_as_sent: bool,
    memory: usize,
    text: &str,
    account: &PeerAccount,
) -> Incoming {
    if let ServerJsonRpcMessage::Request(request) = &message
        && !account.begin(&request.id, memory)
    {
        if !account.is_closed() {
            account.log_unreadable(text, "another request with its id is not answered yet");
        }
        return Incoming::Nothing;
    }
    Incoming::Message(Box::new(message), is_as_sent)
}

fn unreadable(text: &str, reason: &str, account: &PeerAccount) -> Incoming {
    account.log_unreadable(text, reason);
    let member = |name| member_of(text.as_bytes(), name);
    let id = member("id").filter(|_| member("method").is_none()).and_then(|id| serde_json::from_slice(id).ok());
    match id {
        Some(id) => Incoming::Message(Box::new(unreadable_answer(id, reason)), false),
        None => Incoming::Nothing,
    }
}

/// The error for the caller that waits for an answer that cannot be read.
pub(super) fn unreadable_answer(id: RequestId, reason: &str) -> ServerJsonRpcMessage {
    let text: Cow<'static, str> = format!("an answer that cannot be read: {reason}").into();
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode(UNREADABLE), text, None), Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &[u8]) -> ServerJsonRpcMessage {
        match read(text, &PeerAccount::new("far")) {
            Incoming::Message(message, _) => *message,
            Incoming::Nothing | Incoming::Incomplete => panic!("{}", String::from_utf8_lossy(text)),
        }
    }

    fn error(text: &[u8]) -> (Option<RequestId>, ErrorData) {
        match message(text) {
            ServerJsonRpcMessage::Error(error) => (error.id, error.error),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn results_are_parsed_as_what_they_are() {
        let called = message(br#"{"jsonrpc":"2.0","id":1,"error":null,"result":{"content":[],"isError":true}}"#);
        assert!(
            matches!(called, ServerJsonRpcMessage::Response(it) if matches!(it.result, ServerResult::CallToolResult(_)))
        );
        let listed = message(br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
        assert!(
            matches!(listed, ServerJsonRpcMessage::Response(it) if matches!(it.result, ServerResult::ListToolsResult(_)))
        );
        let structured = message(br#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"a":1}}}"#);
        assert!(
            matches!(structured, ServerJsonRpcMessage::Response(it) if matches!(it.result, ServerResult::CallToolResult(_)))
        );
        let latin = message(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xe9\"}]}}",
        );
        let ServerJsonRpcMessage::Response(latin) = latin else { panic!() };
        assert!(format!("{:?}", latin.result).contains("caf\u{fffd}"));
    }

    #[test]
    fn whoever_waits_for_an_unreadable_answer_is_told() {
        let deep = format!(r#"{{"id":7,"result":{{"structuredContent":{}1{}}}}}"#, "[".repeat(200), "]".repeat(200));
        let objects = format!(r#"{{"id":7,"result":{{"structuredContent":[{}0]}}}}"#, "{},".repeat(100_000));
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"\ud83d"}]}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":1e400}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":"text"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":7}"#,
            &deep,
            &objects,
        ] {
            let (id, error) = error(text.as_bytes());
            assert_eq!((id, error.code), (Some(RequestId::Number(7)), ErrorCode(UNREADABLE)), "{}", &text[..50]);
        }
        let (id, said) = error(br#"{"jsonrpc":"2.0","id":7,"error":"boom"}"#);
        assert_eq!((id, &*said.message), (Some(RequestId::Number(7)), "boom"));
        let (_, said) = error(br#"{"jsonrpc":"2.0","id":7,"error":{"code":"E7","message":"no"}}"#);
        assert_eq!(&*said.message, "no");
    }

    #[test]
    fn what_nobody_waits_for_is_left_out() {
        let account = PeerAccount::new("far");
        for text in ["", " \r\n", "Server started", "{\"a\":", "[1]", "{}", "{\"id\":1,\"method\":7}"] {
            assert!(!matches!(read(text.as_bytes(), &account), Incoming::Message(..)), "{text}");
        }
        assert!(matches!(read(b"{\"a\":", &account), Incoming::Incomplete));
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert!(matches!(read(ping, &account), Incoming::Message(_, true)));
        assert!(matches!(read(ping, &account), Incoming::Nothing), "it is not answered yet");
        account.end(&RequestId::Number(1));
        assert!(matches!(read(ping, &account), Incoming::Message(..)));
    }

    #[test]
    fn one_bad_tool_does_not_hide_the_others_nor_one_bad_member_the_rest() {
        let good = r#"{"name":"good","inputSchema":{"type":"object"}}"#;
        for (bad, name) in [
            (r#"{"name":"bad"}"#, "bad"),
            (r#"{"name":"bad","inputSchema":true,"outputSchema":[],"_meta":7}"#, "bad"),
            (r#"{"name":"bad","inputSchema":{},"annotations":{"title":5,"readOnlyHint":true}}"#, "bad"),
            (r#"{"name":"bad","inputSchema":{},"annotations":[],"icons":[7],"title":5}"#, "bad"),
            ("7", ""),
            (r#"{"name":7,"inputSchema":{}}"#, ""),
        ] {
            let text = format!(r#"{{"id":1,"result":{{"tools":[{bad},{good}],"nextCursor":"n"}}}}"#);
            let ServerJsonRpcMessage::Response(listed) = message(text.as_bytes()) else { panic!("{bad}") };
            let ServerResult::ListToolsResult(list) = listed.result else { panic!("{bad}") };
            assert_eq!(list.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), [name, "good"], "{bad}");
            assert_eq!(list.next_cursor.as_deref(), Some("n"));
            let is_noted = list.tools[0].meta.as_ref().is_some_and(|meta| meta.contains_key(LISTED_META));
            assert_eq!(is_noted, name.is_empty(), "{bad}");
            let read_only = list.tools[0].annotations.as_ref().and_then(|hints| hints.read_only_hint);
            assert_eq!(read_only.is_some(), bad.contains("readOnly"), "{bad}");
        }
    }

    #[test]
    fn how_a_tool_is_executed_is_noted_and_lists_are_counted() {
        let account = PeerAccount::new("far");
        let tool = r#"{"name":"a","inputSchema":{},"execution":{"taskSupport":"required"},"_meta":{"x":1}}"#;
        let text = format!(r#"{{"id":1,"result":{{"tools":[{tool}]}}}}"#);
        let Incoming::Message(listed, false) = read(text.as_bytes(), &account) else { panic!("{text}") };
        let listed = serde_json::to_value(&*listed).unwrap();
        let noted = json!({ "x": 1, LISTED_META: { "taskSupport": "required" } });
        assert_eq!(listed["result"]["tools"][0]["_meta"], noted);
        assert!(account.listed_bytes() > tool.len() as u64, "{}", account.listed_bytes());
        account.begin_list();
        assert_eq!(account.listed_bytes(), 0);
    }
}
