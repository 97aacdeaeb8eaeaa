//! The answer of an HTTP server, as a transcript stores it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Full};
use runtime::imports::{HttpBody, HttpError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The response headers that are recorded: those that describe the answer or say where to continue. Others may hold
/// credentials, such as cookies, or tokens under names that only this server uses.
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

/// Parts of the names of headers whose values are credentials.
const CREDENTIALS: [&str; 6] = ["cookie", "auth", "token", "key", "secret", "session"];
/// Shorter values, in bytes, are not searched for, since they occur by chance in any text.
const SHORTEST: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct HttpReply {
    /// Method and address, such as `GET https://example.com/page`.
    pub(super) request: String,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    headers: Headers,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    body: String,
    /// Set instead of `body` if the bytes are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<Binary>,
}

fn ok() -> u16 {
    200
}

pub(super) fn is_recorded(name: &HeaderName) -> bool {
    RECORDED.contains(&name.as_str())
}

/// The values of headers whose names suggest credentials. These headers are not recorded, but a tool may repeat such a value.
pub(super) fn credentials(headers: &HeaderMap) -> impl Iterator<Item = (&HeaderName, &str)> {
    let is_one = |name: &HeaderName| CREDENTIALS.iter().any(|part| name.as_str().contains(part)) && !is_recorded(name);
    let all = headers.iter().filter(move |(name, _)| is_one(name));
    let texts = all.filter_map(|(name, value)| Some((name, value.to_str().ok()?)));
    // The value of a cookie stands between its name and its attributes.
    let values = texts.map(|(name, text)| match name.as_str().contains("cookie") {
        true => {
            (name, text.split(';').next().and_then(|cookie| cookie.split_once('=')).map_or(text, |(_, value)| value))
        }
        false => (name, text),
    });
    values.filter(|(_, value)| value.len() >= SHORTEST)
}

impl HttpReply {
    /// Converts the answer to a live request.
    pub(super) fn from_live(request: String, status: u16, headers: &HeaderMap, body: Vec<u8>) -> Self {
        let headers = headers.iter().filter(|(name, _)| is_recorded(name));
        let text =
            |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
        let headers = Headers(headers.filter_map(text).collect());
        let (body, body_base64) = match String::from_utf8(body) {
            Ok(text) => (text, None),
            Err(error) => (String::new(), Some(Binary(error.into_bytes()))),
        };
        Self { request, status, headers, body, body_base64 }
    }

    /// Refuses keys that exclude each other.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.body_base64.is_some() && !self.body.is_empty() {
            return Err(format!("the answer to `{}` has a `body` or a `body-base64`, not both", self.request));
        }
        Ok(())
    }

    pub(super) fn answer(self) -> Result<http::Response<HttpBody>, HttpError> {
        let mut response = http::Response::builder().status(self.status);
        for (name, value) in &self.headers.0 {
            response = response.header(name, value);
        }
        let body = self.body_base64.map_or(self.body.into_bytes(), |binary| binary.0);
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        response.body(body).map_err(|error| HttpError::Failed(format!("the transcript's answer: {error}")))
    }
}

/// Headers in their order. In TOML, one that occurs several times has a list of values.
#[derive(Debug, Clone, Default, PartialEq)]
struct Headers(Vec<(String, String)>);

impl Headers {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Headers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = Map::new();
        for (name, value) in &self.0 {
            match table.get_mut(name) {
                None => drop(table.insert(name.clone(), value.as_str().into())),
                Some(Value::Array(values)) => values.push(value.as_str().into()),
                Some(one) => *one = Value::from(vec![one.take(), value.as_str().into()]),
            }
        }
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut headers = Vec::new();
        for (name, value) in Map::deserialize(deserializer)? {
            let values = match value {
                Value::Array(values) => values,
                one => vec![one],
            };
            for value in values {
                let Value::String(text) = value else {
                    let why = format!("the header `{name}` must be a text or a list of texts");
                    return Err(serde::de::Error::custom(why));
                };
                headers.push((name.clone(), text));
            }
        }
        Ok(Self(headers))
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

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        given.iter().map(header).collect()
    }

    async fn body(reply: HttpReply) -> Vec<u8> {
        reply.answer().unwrap().into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    #[tokio::test]
    async fn what_is_recorded_answers_the_same_without_credentials() {
        let given = [
            ("x-auth-token", "canary"),
            ("location", "/b"),
            ("link", "<a>"),
            ("content-type", "text/plain"),
            ("link", "<b>"),
            ("set-cookie", "session=canary"),
        ];
        let headers = headers(&given);
        for bytes in [&b"Hello\n"[..], b"", &[0, 159, 146, 150]] {
            let reply = HttpReply::from_live("GET https://a.example/".into(), 404, &headers, bytes.to_vec());
            let text = toml_edit::ser::to_string(&reply).unwrap();
            assert!(!text.contains("canary") && text.contains(r#"link = ["<a>", "<b>"]"#), "{text}");
            let read: HttpReply = toml_edit::de::from_str(&text).unwrap();
            assert_eq!(read, reply, "{text}");
            let answer = read.clone().answer().unwrap();
            let names: Vec<_> = answer.headers().iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!((answer.status().as_u16(), &*names), (404, &["location", "link", "link", "content-type"][..]));
            assert_eq!(body(read).await, bytes);
        }
        let both = "request = \"GET https://a.example/\"\nbody = \"a\"\nbody-base64 = \"YQ==\"";
        assert!(toml::from_str::<HttpReply>(both).unwrap().check().unwrap_err().contains("not both"));
        let wrong = toml_edit::de::from_str::<HttpReply>("request = \"GET https://a.example/\"\nbody-base64 = \"?\"");
        assert!(wrong.unwrap_err().to_string().contains("`body-base64` is not base64"));
    }

    #[test]
    fn credentials_are_known_by_the_names_of_their_headers() {
        let headers = headers(&[
            ("set-cookie", "id=canary-1; Path=/"),
            ("x-auth-token", "canary-2"),
            ("www-authenticate", "Basic"),
            ("date", "canary-3"),
            ("etag", "canary-4"),
        ]);
        let found: Vec<_> = credentials(&headers).map(|(name, value)| (name.as_str(), value)).collect();
        assert_eq!(found, [("set-cookie", "canary-1"), ("x-auth-token", "canary-2")]);
    }
}
