//! JSON that is checked but not kept. Unlike values that serde ignores, it is checked as if it were read: numbers for their
//! range, texts for their encoding.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

pub(super) struct Unread;

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Unread {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn it_is_what_a_value_would_be() {
        for text in [
            r#"{"a":[1,-1,1.5,true,null,"x\u00e9",{}],"a":0}"#,
            "1e999",
            "99999999999999999999",
            r#""\ud800""#,
            r#"{"\ud800":1}"#,
            "[1,]",
            "{1:2}",
            "tru",
        ] {
            let (unread, value) = (serde_json::from_str::<Unread>(text), serde_json::from_str::<Value>(text));
            assert_eq!(unread.is_ok(), value.is_ok(), "{text}");
        }
        assert!(serde_json::from_slice::<Unread>(b"\"\xff\"").is_err());
    }
}
