//! Books under a name: posts its `path`, a URL, and answers with what comes back. Asked about a post in doubt, it looks whether
//! the name is booked. With `n`, it does something else: 1 does not know, 2 traps, 3 never ends, 4 says nonsense.

wit_bindgen::generate!({
    inline: "
        package guests:booker;
        world booker {
            include portcullis:plugin/plugin@0.1.0;
            export portcullis:plugin/reconcile@0.1.0;
        }
    ",
    path: "../../wit/v0.1",
    generate_all,
});

use exports::portcullis::plugin::reconcile::{
    Answer, CallContext, Effect, EffectInDoubt, Guest as Reconcile, HttpResponse, Verdict,
};
use exports::portcullis::plugin::tools::{Guest as Tools, Tool, ToolError, ToolResult};
use guests::Args;
use portcullis::plugin::types::{Content, ContentData, Execution, ToolAnnotations};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};

struct Booker;

impl Tools for Booker {
    fn list_tools() -> Vec<Tool> {
        let tool = guests::run_tool();
        let annotations = ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None };
        vec![Tool {
            name: tool.name,
            title: None,
            description: tool.description,
            input_schema: tool.input_schema,
            output_schema: None,
            annotations,
            execution: Execution::Inline,
            icons: vec![],
        }]
    }

    fn call_tool(_: CallContext, _: String, arguments: String) -> Result<ToolResult, ToolError> {
        let url = Args::parse(&arguments).path_or("");
        let (status, body) = request(&Method::Post, &url).map_err(ToolError::Failed)?;
        let text = ContentData::Text(format!("{status} {}", String::from_utf8_lossy(&body)));
        let content = vec![Content { data: text, annotations: None }];
        Ok(ToolResult { content, structured: None, is_error: false })
    }
}

impl Reconcile for Booker {
    fn reconcile(_: CallContext, _: String, arguments: String, doubt: EffectInDoubt) -> Verdict {
        let Effect::Http(posted) = doubt.effect else { return Verdict::Unknown };
        assert_eq!((&*posted.method, &*doubt.name), ("POST", "http.handle"));
        let answer = |status, body| Verdict::Done(Answer::Http(HttpResponse { status, headers: vec![], body }));
        match Args::parse(&arguments).n {
            Some(1) => return Verdict::Unknown,
            Some(2) => panic!("it does not want to know"),
            Some(3) => loop {
                std::hint::spin_loop();
            },
            Some(4) => return answer(7, vec![]),
            _ => {}
        }
        match request(&Method::Get, &posted.url) {
            Ok((200, body)) => answer(201, body),
            Ok((404, _)) => Verdict::NotDone,
            _ => Verdict::Unknown,
        }
    }
}

/// Status and body.
fn request(method: &Method, url: &str) -> Result<(u16, Vec<u8>), String> {
    let rest = url.strip_prefix("http://").ok_or("no scheme")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let request = OutgoingRequest::new(Fields::new());
    let _ = (request.set_method(method), request.set_scheme(Some(&Scheme::Http)));
    let _ = (request.set_authority(Some(authority)), request.set_path_with_query(Some(path)));
    let body = request.body().map_err(|()| "no body")?;
    let answer = handle(request, None).map_err(|code| format!("{code:?}"))?;
    OutgoingBody::finish(body, None).map_err(|code| format!("{code:?}"))?;
    answer.subscribe().block();
    let answer = match answer.get() {
        Some(Ok(Ok(answer))) => answer,
        other => return Err(format!("no answer: {:?}", other.map(|it| it.map(|it| it.map(|_| ()))))),
    };
    let body = answer.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no stream")?;
    let mut read = Vec::new();
    while let Ok(piece) = stream.blocking_read(1 << 16) {
        read.extend(piece);
    }
    Ok((answer.status(), read))
}

export!(Booker);
