//! The token of a client's progress notifications. It is sent back unchanged: rmcp's type has room only for integers, and some
//! clients use fractions, or draw a random number.

use rmcp::ErrorData;
use rmcp::model::{CustomNotification, JsonObject, ServerNotification};
use rmcp::service::{RequestContext, RoleServer};
use runtime::imports::ProgressReport;
use serde_json::{Number, Value, json};

const FIELD: &str = "progressToken";
const METHOD: &str = "notifications/progress";
/// From this value on, a double cannot represent every integer, so it is not clear which one was sent: 2^53.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProgressToken(Value);

impl ProgressToken {
    /// The token of a request, if it has one. An error if the token could not be sent back unchanged.
    pub(crate) fn from_context(context: &RequestContext<RoleServer>) -> Result<Option<Self>, ErrorData> {
        Self::read(context.meta.get(FIELD))
    }

    fn read(value: Option<&Value>) -> Result<Option<Self>, ErrorData> {
        let is_exact = |number: &Number| !number.is_f64() || number.as_f64().is_some_and(|it| it.abs() < MAX_EXACT);
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(text @ Value::String(_)) => Ok(Some(Self(text.clone()))),
            Some(Value::Number(number)) if is_exact(number) => Ok(Some(Self(number.clone().into()))),
            Some(Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
                let text = format!("`params._meta.{FIELD}` must be a string or an integer of at most 64 bits");
                Err(ErrorData::invalid_params(text, None))
            }
        }
    }

    /// The notification for a report.
    pub(crate) fn notification(&self, report: ProgressReport, meta: JsonObject) -> ServerNotification {
        let ProgressReport { done, total, message } = report;
        let mut params = json!({ FIELD: self.0, "progress": done });
        let more = [("total", total.map(Value::from)), ("message", message.map(Value::from))];
        for (name, value) in more.into_iter().chain([("_meta", (!meta.is_empty()).then(|| meta.into()))]) {
            if let Some(value) = value {
                params[name] = value;
            }
        }
        ServerNotification::CustomNotification(CustomNotification::new(METHOD, Some(params)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_given_back_is_and_anything_else_is_refused() {
        for text in ["\"t\"", "\"\"", "7", "-1", "18446744073709551615", "1.5", "-0.0", "0.1", "9007199254740991.0"] {
            let token = ProgressToken::read(Some(&serde_json::from_str(text).unwrap())).unwrap().unwrap();
            assert_eq!(token.0.to_string(), text);
        }
        for none in [None, Some(&Value::Null)] {
            assert_eq!(ProgressToken::read(none), Ok(None));
        }
        for bad in ["18446744073709551617", "9007199254740993.0", "1e300", "true", "[]", "{}"] {
            let refused = ProgressToken::read(Some(&serde_json::from_str(bad).unwrap())).unwrap_err();
            assert!(refused.code.0 == -32602 && refused.message.contains("params._meta.progressToken"), "{bad}");
        }
    }

    #[test]
    fn a_notification_has_what_the_report_has() {
        let token = ProgressToken(json!(1.5));
        let report = ProgressReport { done: 0.5, total: None, message: Some("half".into()) };
        let meta = JsonObject::from_iter([("a".to_owned(), json!(1))]);
        let sent = serde_json::to_value(token.notification(report, meta)).unwrap();
        assert_eq!(sent["method"], METHOD);
        assert_eq!(
            sent["params"],
            json!({"progressToken": 1.5, "progress": 0.5, "message": "half", "_meta": {"a": 1}})
        );
    }
}
