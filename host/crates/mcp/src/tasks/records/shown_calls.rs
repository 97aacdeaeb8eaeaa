//! The calls of its client's tools that a task waits for, as they are stored and shown.

use platform::text::truncate_chars;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of the tool names in a message.
const MAX_NAMES: usize = 100;

/// By key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::tasks) struct ShownCalls(BTreeMap<String, ShownCall>);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ShownCall {
    /// The fields of the call, as the extension specifies them.
    fields: Value,
    expires: u64,
}

impl ShownCalls {
    /// Each call comes with its key, its fields and the time when it is given up.
    pub(in crate::tasks) fn new(calls: impl Iterator<Item = (String, Value, u64)>) -> Self {
        Self(calls.map(|(key, fields, expires)| (key, ShownCall { fields, expires })).collect())
    }

    pub(in crate::tasks) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::tasks) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// When each is given up.
    pub(in crate::tasks) fn expiries(&mut self) -> impl Iterator<Item = &mut u64> {
        self.0.values_mut().map(|call| &mut call.expires)
    }

    /// The fields of each, with the time that is left for it.
    pub(in crate::tasks) fn to_fields(&self, now: u64) -> Map<String, Value> {
        let fields = |(key, ShownCall { fields, expires }): (&String, &ShownCall)| {
            let mut fields = fields.clone();
            if let Some(fields) = fields.as_object_mut() {
                fields.insert("timeoutMs".to_owned(), expires.saturating_sub(now).into());
            }
            (key.clone(), fields)
        };
        self.0.iter().map(fields).collect()
    }

    /// A message for clients that do not run the tools.
    pub(in crate::tasks) fn message(&self) -> Option<String> {
        let names: BTreeSet<&str> = self.0.values().filter_map(|call| call.fields["name"].as_str()).collect();
        let names = names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let names = match names.chars().count() > MAX_NAMES {
            true => format!("{}…", truncate_chars(&names, MAX_NAMES)),
            false => names,
        };
        let message =
            || format!("It waits for tools of its client: {names}. A client that declares them can run them.");
        (!self.is_empty()).then(message)
    }
}
