//! A request of which nobody knows whether it happened, when the host has ended meanwhile.

use portcullis_guest::reconcile::{Doubt, Effect, HttpResponse, Verdict};
use portcullis_guest::{ToolError, http};
use serde_json::{Value, json};

pub(crate) fn reserve(name: &str) -> Result<String, ToolError> {
    let place = format!("http://localhost:8444/v1/place/{name}");
    let response = http::post(place).json(&json!({ "name": name })).send()?;
    Ok(format!("{} {}", response.status, response.text()))
}

pub(crate) fn find_out(doubt: &Doubt<'_>) -> Verdict {
    let Effect::Http(request) = doubt.effect else { return Verdict::Unknown };
    let is_known = doubt.arguments::<Value>().is_ok_and(|arguments| arguments["name"] != "lost");
    if doubt.tool != "reserve" || request.method != "POST" || !is_known {
        return Verdict::Unknown;
    }
    match http::get(&request.url).send() {
        Ok(found) if found.status == 200 => {
            let headers = vec![("content-type".into(), b"text/plain".to_vec())];
            Verdict::from(HttpResponse { status: 201, headers, body: found.body })
        }
        Ok(found) if found.status == 404 => Verdict::NotDone,
        _ => Verdict::Unknown,
    }
}
