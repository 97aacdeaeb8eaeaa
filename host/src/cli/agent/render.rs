//! Renders requests and events as text for people and as JSON for programs.

use super::screen::{MAX_INLINE, Screen, inline, quoted};
use agent::{ApprovalRequest, PageAddress, ReactionAction, TranscriptItem, content_text};
use runtime::imports::{Content, SampleAnswer, SampleContent, SampleRequest};
use serde_json::{Value, json};
use upstream::{ResumePoint, UpstreamCallEvent};

/// A pending request; `call` is the number of the agent's call that it belongs to.
pub(super) fn approval_request(
    screen: &Screen,
    (id, call): (u64, Option<u64>),
    approval: &ApprovalRequest,
) -> (Value, String) {
    let mut json = json!({ "event": "approval-requested", "approval": id, "server": approval.server(), "call": call });
    let heading = |what: &str| {
        let plugin = approval.requester().and_then(|requester| requester.plugin.as_deref());
        let plugin = plugin.map(|plugin| format!(", says its plugin {:?}", inline(plugin))).unwrap_or_default();
        let within = call.map(|call| format!(", in call {call}")).unwrap_or_default();
        screen.strong(&format!("[{id}] {}{plugin}{within}: {what}", inline(approval.server())))
    };
    let mut set = |more: Value| {
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more);
        }
    };
    let text = match approval {
        ApprovalRequest::ReverseCall { request, once_per_task, .. } => {
            let arguments = Value::Object(request.arguments.clone());
            set(
                json!({ "kind": "reverse-call", "tool": request.name, "arguments": arguments, "readOnly": request.read_only,
                        "plugin": request.requester.plugin, "purpose": request.purpose }),
            );
            let kind = if request.read_only { "which claims to change nothing" } else { "which may change something" };
            let pretty = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            let mut text = heading(&format!("wants to call your tool {}, {kind}, with", inline(&request.name)));
            text += &format!("\n{}", quoted(&pretty));
            if let Some(purpose) = &request.purpose {
                text += &format!("\n    for this purpose, it says,\n{}", quoted(purpose));
            }
            let once = if *once_per_task { " (until the call ends)" } else { "" };
            text + &format!(
                "\n    approve {id}{once} | approve {id} task | approve {id} always | edit {id} {{…}} | deny {id} [reason]"
            )
        }
        ApprovalRequest::Form { requester, message, schema } => {
            let schema: Value = serde_json::from_str(schema.text()).unwrap_or_default();
            set(json!({ "kind": "form", "message": message, "schema": schema, "plugin": requester.plugin }));
            let fields: Vec<String> =
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| inline(name)).collect();
            let how = match fields.as_slice() {
                [] => format!("approve {id} | deny {id}"),
                fields => {
                    format!("fields: {}\n    answer {id} | answer {id} {{…}} | deny {id}", fields.join(", "))
                }
            };
            format!("{}\n{}\n    {how}", heading("asks you"), quoted(message))
        }
        ApprovalRequest::Page { requester, message, address } => {
            let whole = format!("{}{}{}", address.before, address.host, address.after);
            set(json!({ "kind": "page", "message": message, "url": whole, "host": address.host,
                        "warnings": address.warnings, "plugin": requester.plugin }));
            let text = heading("wants you to open a page");
            format!(
                "{text}\n{}\n{}\n    approve {id} (opens it) | deny {id}",
                quoted(message),
                page_lines(screen, address)
            )
        }
        ApprovalRequest::Prompt { requester, request } | ApprovalRequest::PromptWithoutModel { requester, request } => {
            let without_model = matches!(approval, ApprovalRequest::PromptWithoutModel { .. });
            let messages = conversation(request);
            set(
                json!({ "kind": if without_model { "prompt-without-model" } else { "prompt" }, "prompt": messages, "plugin": requester.plugin,
                        "maxTokens": request.max_tokens }),
            );
            let what = if without_model {
                "asks a model, but none is configured; answer in its place"
            } else {
                "asks your model"
            };
            let mut text = heading(&format!("{what}, for up to {} tokens", request.max_tokens));
            text += &format!("\n{}", quoted(&messages));
            text + &match without_model {
                true => format!("\n    answer {id} TEXT | deny {id} [reason]"),
                false => {
                    format!("\n    approve {id} | edit {id} TEXT (in place of the last message) | deny {id} [reason]")
                }
            }
        }
        ApprovalRequest::ModelAnswer { requester, answer } => {
            let shown = answer_text(answer);
            set(json!({ "kind": "model-answer", "answer": shown, "model": answer.model, "plugin": requester.plugin }));
            let text = heading(&format!("will get this answer from {}", inline(&answer.model)));
            format!("{text}\n{}\n    approve {id} | edit {id} TEXT | deny {id} [reason]", quoted(&shown))
        }
        ApprovalRequest::Reaction { triggered, .. } => {
            let event = &triggered.event;
            let action = action_text(&triggered.action);
            set(
                json!({ "kind": "reaction", "name": event.name, "payload": event.payload, "plugin": event.plugin, "action": action }),
            );
            let pretty = serde_json::to_string_pretty(&event.payload).unwrap_or_default();
            let plugin = event.plugin.as_deref().map(|plugin| format!(" of {:?}", inline(plugin))).unwrap_or_default();
            let text = heading(&format!("sent the event {}{plugin}", inline(&event.name)));
            format!("{text}\n{}\n    configured action: {action}\n    approve {id} | deny {id}", quoted(&pretty))
        }
    };
    (json, text)
}

/// The whole address, its host, and the warnings.
fn page_lines(screen: &Screen, address: &PageAddress) -> String {
    let PageAddress { before, host, after, warnings } = address;
    let mut lines =
        vec![format!("    {before}{}{after}", screen.strong(host)), format!("    host: {}", screen.strong(host))];
    lines.extend(warnings.iter().map(|warning| format!("    WARNING: {warning}")));
    lines.join("\n")
}

fn conversation(request: &SampleRequest) -> String {
    let system = request.system_prompt.iter().map(|text| format!("system: {text}"));
    let messages = request.messages.iter().map(|message| {
        let role = format!("{:?}", message.role).to_lowercase();
        format!("{role}: {}", message.content.iter().map(sample_text).collect::<Vec<_>>().join("\n"))
    });
    let tools = request.tools.iter().map(|tool| format!("tool: {}", tool.name));
    system.chain(messages).chain(tools).collect::<Vec<_>>().join("\n")
}

/// The text of a model's answer.
pub(super) fn answer_text(answer: &SampleAnswer) -> String {
    answer.content.iter().map(sample_text).collect::<Vec<_>>().join("\n")
}

/// The text of the last message, which the user can edit.
pub(super) fn last_message(request: &SampleRequest) -> String {
    let content = request.messages.last().map(|message| &message.content[..]).unwrap_or_default();
    content.iter().map(sample_text).collect::<Vec<_>>().join("\n")
}

fn sample_text(content: &SampleContent) -> String {
    match content {
        SampleContent::Text(text) => text.clone(),
        SampleContent::Image(blob) | SampleContent::Audio(blob) => {
            format!("[{}, {} bytes]", blob.mime_type, blob.data.len())
        }
        SampleContent::ToolUse(tool) => format!("[wants {} {}]", tool.name, tool.input),
        SampleContent::ToolResult(outcome) => format!("[{}]", contents_text(&outcome.content)),
    }
}

/// The reaction to an event.
pub(super) fn action_text(action: &ReactionAction) -> String {
    match action {
        ReactionAction::Notify => "notify".to_owned(),
        ReactionAction::Call { server, tool, arguments } => {
            format!("call {server}.{tool} {}", Value::Object(arguments.clone()))
        }
    }
}

/// Contents as text.
pub(super) fn contents_text(content: &[Content]) -> String {
    content.iter().map(content_text).collect::<Vec<_>>().join("\n")
}

/// The progress of a call as it was last shown to people.
#[derive(Default)]
pub(super) struct ShownProgress {
    last: String,
    /// Whether the last event was a chunk.
    is_after_chunk: bool,
    /// Progress that the line of the next chunk shows.
    next: Option<String>,
}

impl ShownProgress {
    /// The line for a progress report. None if it repeats the last one: servers repeat their progress so that no client gives
    /// up. None also for a report without a message after a chunk: the line of the next chunk shows it.
    fn line(&mut self, done: &str, message: &str) -> Option<String> {
        let (line, is_after_chunk) = (format!("{done}  {message}"), std::mem::take(&mut self.is_after_chunk));
        if line == self.last {
            return None;
        }
        self.last.clone_from(&line);
        self.next = (is_after_chunk && message.is_empty()).then(|| done.to_owned());
        self.next.is_none().then_some(line)
    }

    /// The progress that the line of a chunk shows, empty if there is none.
    fn of_chunk(&mut self) -> String {
        self.is_after_chunk = true;
        self.next.take().map(|done| format!(" ({done})")).unwrap_or_default()
    }
}

pub(super) fn call_event(call: u64, event: &UpstreamCallEvent, progress: &mut ShownProgress) -> (Value, String) {
    match event {
        UpstreamCallEvent::Chunk { seq, content, origin } => {
            let text = contents_text(content);
            let from = if origin.is_empty() { String::new() } else { format!(" from {}", inline(&origin.join(" > "))) };
            let json = json!({ "event": "chunk", "call": call, "seq": seq, "text": text, "origin": origin });
            let heading = format!("call {call}, chunk {seq}{from}{}", progress.of_chunk());
            let is_short = text.len() <= MAX_INLINE && !text.contains(['\n', '\r']);
            (
                json,
                if is_short {
                    format!("{heading}: {}", inline(&text))
                } else {
                    format!("{heading}\n{}", quoted(&text))
                },
            )
        }
        UpstreamCallEvent::Progress(report) => {
            let total = report.total.map(|total| format!(" of {total}")).unwrap_or_default();
            let message = report.message.as_deref().unwrap_or_default();
            let json = json!({ "event": "progress", "call": call, "done": report.done, "total": report.total, "message": message });
            let line = progress.line(&format!("{}{total}", report.done), &inline(message));
            (json, line.map(|line| format!("call {call}: {}", line.trim_end())).unwrap_or_default())
        }
        UpstreamCallEvent::Log(message) => {
            let json = json!({ "event": "log", "call": call, "message": message });
            (json, format!("call {call} logs\n{}", quoted(message)))
        }
        UpstreamCallEvent::CallId(id) => (json!({ "event": "call-id", "call": call, "callId": id }), String::new()),
        UpstreamCallEvent::Status(message) => {
            let json = json!({ "event": "status", "call": call, "message": message });
            (json, format!("call {call}: {}", inline(message)))
        }
        UpstreamCallEvent::Resumable(point) => match point.as_ref().and_then(ResumePoint::task_id) {
            Some(id) => {
                let json = json!({ "event": "task", "call": call, "taskId": id });
                (json, format!("call {call} goes on as a task of its server; `cancel {call}` stops it"))
            }
            None => (json!({ "event": "parked", "call": call, "parked": point.is_some() }), String::new()),
        },
    }
}

/// An item of the transcript.
pub(super) fn transcript_item(item: &TranscriptItem) -> Value {
    let mut json = match item {
        TranscriptItem::User(text) => json!({ "kind": "user", "text": text }),
        TranscriptItem::Call { call, tool, arguments } => {
            json!({ "kind": "call", "call": call, "tool": tool, "arguments": arguments })
        }
        TranscriptItem::Chunks { call, chunks, text } => {
            json!({ "kind": "chunks", "call": call, "firstSeq": chunks.0, "lastSeq": chunks.1, "text": text })
        }
        TranscriptItem::Digest { call, text } => json!({ "kind": "digest", "call": call, "text": text }),
        TranscriptItem::Result { call, text, is_error } => {
            json!({ "kind": "result", "call": call, "text": text, "isError": is_error })
        }
    };
    json["event"] = "transcript".into();
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::imports::ProgressReport;

    fn lines(events: &[UpstreamCallEvent]) -> Vec<String> {
        let mut progress = ShownProgress::default();
        let lines = events.iter().map(|event| call_event(1, event, &mut progress).1);
        lines.filter(|line| !line.is_empty()).collect()
    }

    fn chunk(seq: u64, text: &str) -> UpstreamCallEvent {
        let content = vec![Content::text(text)];
        UpstreamCallEvent::Chunk { seq, content, origin: Vec::new() }
    }

    fn report(done: f64, message: &str) -> UpstreamCallEvent {
        let message = (!message.is_empty()).then(|| message.to_owned());
        UpstreamCallEvent::Progress(ProgressReport { done, total: Some(3.0), message })
    }

    #[test]
    fn a_chunk_and_how_far_its_call_is_take_one_line() {
        let events = [chunk(0, "one"), report(1.0, ""), chunk(1, "two"), report(2.0, ""), chunk(2, "three")];
        assert_eq!(
            lines(&events),
            ["call 1, chunk 0: one", "call 1, chunk 1 (1 of 3): two", "call 1, chunk 2 (2 of 3): three"]
        );
        let long = chunk(0, "a\nb");
        assert_eq!(lines(&[long]), ["call 1, chunk 0\n    │ a\n    │ b"]);
    }

    #[test]
    fn each_report_is_shown_once_whatever_comes_between() {
        let events =
            [report(1.0, ""), report(1.0, ""), chunk(0, "x"), report(2.0, ""), report(3.0, ""), report(3.0, "")];
        assert_eq!(lines(&events), ["call 1: 1 of 3", "call 1, chunk 0: x", "call 1: 3 of 3"]);
        let events = [chunk(0, "x"), report(1.0, "reading"), report(1.0, "reading")];
        assert_eq!(lines(&events), ["call 1, chunk 0: x", "call 1: 1 of 3  reading"]);
    }

    #[test]
    fn a_chunk_cannot_pass_for_a_line_of_ours() {
        let line = &lines(&[chunk(0, "x\u{85}agent> \u{1b}[2Japprove 1")])[0];
        assert!(line.lines().count() == 1 && !line.contains('\u{1b}') && !line.contains('\u{85}'), "{line:?}");
    }
}
