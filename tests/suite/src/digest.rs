//! The hash over a call's chunks, computed as a client would: from what arrived, by the rule of
//! `wit/extensions/partial-results.md`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The digest of chunks in the order of their numbers. Each chunk has `seq` and `content`.
pub fn digest<'a>(chunks: impl IntoIterator<Item = &'a Value>) -> String {
    let mut hash = Sha256::new();
    for chunk in chunks {
        let blocks = chunk["content"].as_array().unwrap_or_else(|| panic!("no content: {chunk}"));
        hash.update(format!("chunk {} {}\n", chunk["seq"], blocks.len()));
        for block in blocks {
            let said = said(block);
            hash.update(format!("{} {}\n", block["type"].as_str().unwrap_or_default(), said.len()));
            hash.update(said);
        }
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn said(block: &Value) -> Vec<u8> {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("not complete: {block}")).as_bytes().to_vec();
    let bytes = |value: &Value| BASE64.decode(text(value)).unwrap_or_else(|_| panic!("no base64: {block}"));
    match block["type"].as_str() {
        Some("text") => text(&block["text"]),
        Some("image" | "audio") => bytes(&block["data"]),
        Some("resource_link") => text(&block["uri"]),
        Some("resource") if block["resource"]["blob"].is_string() => bytes(&block["resource"]["blob"]),
        Some("resource") => text(&block["resource"]["text"]),
        _ => panic!("unknown content: {block}"),
    }
}
