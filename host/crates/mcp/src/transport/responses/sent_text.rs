//! Keeps the part of a refused message that is needed to answer it under its id.

use bytes::Bytes;
use protocol::json_text::member_of;
use rmcp::model::RequestId;

/// Bytes at the beginning and at the end of a request in which its id is looked for, if the request is not read as a whole.
const MAX_BEGIN: usize = 1 << 10;
const MAX_END: usize = 256;

/// The text that a client has sent, as far as it was read.
#[derive(Debug, Default, PartialEq)]
pub(in crate::transport) struct SentText {
    begin: Bytes,
    /// The end of a text that is not read as a whole.
    end: Vec<u8>,
}

impl SentText {
    pub(in crate::transport) fn set_whole(&mut self, text: &Bytes) {
        self.begin = text.clone();
    }

    /// Adds a part of a text that is too large.
    pub(in crate::transport) fn add_part(&mut self, part: &[u8]) {
        if self.begin.is_empty() {
            self.begin = Bytes::copy_from_slice(&part[..part.len().min(MAX_BEGIN)]);
        }
        self.end.extend_from_slice(&part[part.len().saturating_sub(MAX_END)..]);
        let surplus = self.end.len().saturating_sub(MAX_END);
        self.end.drain(..surplus);
    }

    /// The id under which the client waits for a response.
    pub(in crate::transport) fn request_id(&self) -> Option<RequestId> {
        request_id(&self.begin, &self.end)
    }
}

/// The id of a request of which only the beginning and the end are known. If the text is not JSON, this is a guess; it is used
/// only in a response to the sender.
pub(in crate::transport) fn request_id(begin: &[u8], end: &[u8]) -> Option<RequestId> {
    member_of(begin, "method")?;
    let id = member_of(begin, "id").or_else(|| last_member(end, b"\"id\""))?;
    serde_json::from_slice(id).ok()
}

/// The value of a text's last member, if that has this name. Many clients write the id there.
fn last_member<'a>(end: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let members = end.trim_ascii_end().strip_suffix(b"}")?;
    let at = members.windows(name.len()).rposition(|window| window == name)?;
    Some(members[at + name.len()..].trim_ascii_start().strip_prefix(b":")?.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_parts(parts: &[&str]) -> Option<RequestId> {
        let mut sent = SentText::default();
        parts.iter().for_each(|part| sent.add_part(part.as_bytes()));
        sent.request_id()
    }

    #[test]
    fn the_id_of_a_text_that_is_too_large_is_found_at_both_ends() {
        let large = "x".repeat(100_000);
        let begins = format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"text":"{large}"#);
        assert_eq!(of_parts(&[&begins]), Some(RequestId::String("a".into())));
        let ends =
            [r#"{"method":"tools/call","params":{"id":9,"text":""#, &large, r#""},"jsonrpc":"2.0","#, r#""id" : 7 }"#];
        assert_eq!(of_parts(&ends), Some(RequestId::Number(7)));
        assert_eq!(of_parts(&[&ends.concat()]), Some(RequestId::Number(7)));
        for inner in [r#""},"other":{"id":7}}"#, r#"","id":7"}"#, r#""id":null}"#] {
            assert_eq!(of_parts(&[ends[0], &large, inner]), None, "{inner}");
        }
        assert_eq!(of_parts(&[r#"{"result":{},"id":7}"#]), None, "an answer is not answered");
    }
}
