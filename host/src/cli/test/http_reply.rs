//! What a server answers, as a transcript has it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use runtime::imports::{HttpBody, HttpError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// The headers of an answer that are recorded: those that say what the body is, and where to go on. Others may be credentials,
/// such as cookies and tokens under names of a server's own.
const RECORDED: [&str; 14] = [
    "allow",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "retry-after",
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct HttpReply {
    /// Method and address, such as `GET https://example.com/page`.
    pub(super) request: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
    /// In its place: bytes that are no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<Binary>,
}

fn ok() -> u16 {
    200
}

impl HttpReply {
    /// As it was answered in life.
    pub(super) fn of(request: String, status: u16, headers: &HeaderMap, body: Vec<u8>) -> Self {
        let mut kept = BTreeMap::<String, String>::new();
        for name in RECORDED {
            let values: Vec<_> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
            if !values.is_empty() {
                kept.insert(name.to_owned(), values.join(", "));
            }
        }
        let (body, body_base64) = match String::from_utf8(body) {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(Binary(error.into_bytes()))),
        };
        Self { request, status, headers: kept, body, body_base64 }
    }

    pub(super) fn answer(self) -> Result<http::Response<HttpBody>, HttpError> {
        let mut response = http::Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let body = self.body_base64.map_or(self.body.into_bytes(), |binary| binary.0);
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        response.body(body).map_err(|error| HttpError::Failed(format!("the transcript's answer: {error}")))
    }
}

/// Bytes, written as base64.
#[derive(Debug, Clone, PartialEq)]
struct Binary(Vec<u8>);

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let text: String = text.split_whitespace().collect();
        let bytes = STANDARD.decode(text).map_err(|error| format!("`body-base64` is not base64: {error}"));
        bytes.map(Self).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn body(reply: HttpReply) -> Vec<u8> {
        reply.answer().unwrap().into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    #[tokio::test]
    async fn what_is_recorded_answers_the_same_without_credentials() {
        let headers = [
            ("content-type", "text/plain"),
            ("link", "<a>"),
            ("link", "<b>"),
            ("set-cookie", "session=canary"),
            ("x-auth-token", "canary"),
        ];
        let headers = headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let headers =
            HeaderMap::from_iter(headers.map(|(name, value): (http::HeaderName, http::HeaderValue)| (name, value)));
        for bytes in [&b"Hello\n"[..], b"", &[0, 159, 146, 150]] {
            let reply = HttpReply::of("GET https://a.example/".into(), 404, &headers, bytes.to_vec());
            let text = toml::to_string(&reply).unwrap();
            assert!(!text.contains("canary"), "{text}");
            let read: HttpReply = toml_edit::de::from_str(&text).unwrap();
            assert_eq!(read, reply, "{text}");
            let answer = read.clone().answer().unwrap();
            assert_eq!(
                (answer.status().as_u16(), &answer.headers()["link"]),
                (404, &"<a>, <b>".parse::<http::HeaderValue>().unwrap())
            );
            assert_eq!(body(read).await, bytes);
        }
        let wrong = toml_edit::de::from_str::<HttpReply>("request = \"GET https://a.example/\"\nbody-base64 = \"?\"");
        assert!(wrong.unwrap_err().to_string().contains("`body-base64` is not base64"));
    }
}
