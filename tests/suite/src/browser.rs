//! A minimal browser: keeps cookies, submits forms, and follows redirects one step at a time.

use crate::http::{Response, request_at};
use std::collections::BTreeMap;
use url::Url;

/// One person's browser.
#[derive(Default)]
pub struct Browser {
    cookies: BTreeMap<String, String>,
    /// Headers sent with every request, as by a proxy that authenticates the person.
    pub headers: Vec<(String, String)>,
}

/// The response to a step.
pub struct Arrived {
    /// Such as 200.
    pub status: u16,
    /// The target of a redirect.
    pub location: Option<Url>,
    /// Headers and body.
    pub text: String,
}

impl Browser {
    /// Opens an address.
    pub fn open(&mut self, url: &Url) -> Arrived {
        self.step("GET", url, "")
    }

    /// Submits a form of its own site.
    pub fn submit(&mut self, url: &Url, fields: &[(&str, &str)]) -> Arrived {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.step("POST", url, &form)
    }

    /// Forgets all cookies.
    pub fn forget(&mut self) {
        self.cookies.clear();
    }

    fn step(&mut self, method: &str, url: &Url, form: &str) -> Arrived {
        let address = url.socket_addrs(|| None).expect("an address of this machine")[0];
        let target = url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        // Cookies do not depend on the port.
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let (cookies, origin) = (cookies.join("; "), url.origin().ascii_serialization());
        let mut headers = vec![("Accept", "text/html")];
        if !cookies.is_empty() {
            headers.push(("Cookie", &cookies));
        }
        if method == "POST" {
            headers.extend([("Origin", origin.as_str()), ("Content-Type", "application/x-www-form-urlencoded")]);
        }
        headers.extend(self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut response = request_at(address, method, &target, &headers, form);
        self.keep(&response);
        let location = response.header("location").map(|to| url.join(to).expect("a location is an address"));
        let body = response.text();
        let text = format!("{:?}\n{body}", response.headers());
        Arrived { status: response.status, location, text }
    }

    fn keep(&mut self, response: &Response) {
        for (name, value) in response.headers() {
            if name == "set-cookie"
                && let Some((name, value)) = value.split(';').next().and_then(|pair| pair.split_once('='))
            {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}
