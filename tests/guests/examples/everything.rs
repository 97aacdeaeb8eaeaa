//! Uses every import that does something, one after the other: log, progress, chunks, state, events, publishing, a
//! question, another tool, a request to the address in `path`, a file of its own at `/own` and a moment's sleep. Says how
//! many of them worked. What it requests is put in by its test, which knows the port.

use guests::bindings::portcullis::plugin::events;
use guests::bindings::portcullis::plugin::publish::{Attributes, append_resource, put_resource, remove_resource};
use guests::bindings::portcullis::plugin::types::ResourceBody;
use guests::client::{self, Form};
use guests::{Outcome, agent_tools, log, meter, output, progress, state, steering, text};
use std::io::Write as _;
use std::time::Duration;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};

const FORM: &str = r#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#;

guests::guest! {
    fn run(args) {
        let address = args.path_or("127.0.0.1:1");
        log::write(log::Level::Info, "begins");
        progress::report(0.0, Some(1.0), None);
        let attributes =
            || Attributes { title: None, description: None, mime_type: None, audience: vec![], priority: None, ttl_ms: None };
        let body = || ResourceBody::Text("text".into());
        let options = agent_tools::CallOptions { timeout_ms: None, purpose: None, chunks: true };
        let form = Form { message: "Who?".into(), schema: FORM.into() };
        // Named in the log before it begins, so that a test knows where the call waits.
        let step = |name: &'static str, work: &dyn Fn() -> bool| {
            log::write(log::Level::Info, name);
            (name, work())
        };
        let worked = [
            step("chunk", &|| output::emit(&[text("one")]).is_ok()),
            step("set", &|| state::set("k", b"v").is_ok()),
            step("get", &|| state::get("k").is_ok_and(|entry| entry.is_some())),
            step("keys", &|| state::keys("", None).is_ok()),
            // One a second and a few more: beyond, saying so is how it works.
            step("event", &|| matches!(events::emit("done.it", "{}", None), Ok(_) | Err(events::EventError::Exhausted(_)))),
            step("put", &|| put_resource("report", &body(), &attributes()).is_ok()),
            step("append", &|| append_resource("report", &body()).is_ok()),
            step("ask", &|| client::elicit_form(Some("who"), &form).is_ok()),
            step("call", &|| agent_tools::call("echo.run", r#"{"n":2}"#, &options).is_ok()),
            step("file", &|| file().is_ok()),
            step("request", &|| request(&address).is_some()),
            step("sleep", &|| { std::thread::sleep(Duration::from_millis(1)); true }),
            step("remove", &|| remove_resource("report").is_ok() && state::remove("k").is_ok()),
            step("look", &|| steering::next().is_none() && meter::deadline_left() > 0),
        ];
        let failed: Vec<_> = worked.iter().filter(|(_, worked)| !worked).map(|(name, _)| *name).collect();
        Outcome::Ok(format!("{} worked; not: {}", worked.len() - failed.len(), failed.join(",")).into())
    }
}

fn file() -> std::io::Result<()> {
    let mut file = std::fs::File::create("/own/file")?;
    file.write_all(&[b'x'; 10_000])?;
    file.set_len(5_000)?;
    std::fs::create_dir_all("/own/folder")?;
    std::fs::read("/own/file")?;
    std::fs::remove_file("/own/file")
}

/// The answer's body.
fn request(address: &str) -> Option<Vec<u8>> {
    let request = OutgoingRequest::new(Fields::new());
    request.set_scheme(Some(&Scheme::Http)).ok()?;
    request.set_authority(Some(address)).ok()?;
    request.set_path_with_query(Some("/private?of=mine")).ok()?;
    let answer = handle(request, None).ok()?;
    answer.subscribe().block();
    let body = answer.get()?.ok()?.ok()?.consume().ok()?;
    let stream = body.stream().ok()?;
    let mut read = Vec::new();
    while let Ok(piece) = stream.blocking_read(4096) {
        read.extend(piece);
    }
    Some(read)
}
