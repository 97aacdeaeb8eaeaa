//! Questions to a client and its answers: `elicitation/create`, `sampling/createMessage` and `roots/list`, which are the same
//! in both revisions of the protocol.

use super::names::{CLIENT_TOOLS, CORRELATION_META, SOURCE_META};
use super::sampling;
use policy::PluginId;
use rmcp::ErrorData;
use rmcp::model::{
    self as m, ClientCapabilities, CreateMessageRequest, ElicitRequest, ElicitRequestParams, InputRequest,
    ListRootsRequest, RequestMetaObject,
};
use runtime::imports::{Abilities, Author, CheckedQuestion, ClientError, ClientReply, Consent, Root};
use serde_json::{Map, Value, json};

pub fn abilities_from_capabilities(declared: &ClientCapabilities) -> Abilities {
    let elicitation = declared.elicitation.as_ref();
    let url = elicitation.is_some_and(|e| e.url.is_some());
    let sampling = declared.sampling.as_ref();
    Abilities {
        // An empty declaration means forms.
        form: elicitation.is_some_and(|e| e.form.is_some() || e.url.is_none()),
        url,
        sample: sampling.is_some(),
        sample_tools: sampling.is_some_and(|s| s.tools.is_some()),
        roots: declared.roots.is_some(),
    }
}

/// What a client has to declare to have these abilities and, if `tools` is set, to let the server call its tools.
pub fn abilities_to_capabilities(abilities: Abilities, tools: bool) -> ClientCapabilities {
    let mut declared = Map::new();
    let mut elicitation = Map::new();
    if abilities.form {
        elicitation.insert("form".into(), json!({}));
    }
    if abilities.url {
        elicitation.insert("url".into(), json!({}));
    }
    if !elicitation.is_empty() {
        declared.insert("elicitation".into(), elicitation.into());
    }
    if abilities.sample {
        declared.insert("sampling".into(), if abilities.sample_tools { json!({ "tools": {} }) } else { json!({}) });
    }
    if abilities.roots {
        declared.insert("roots".into(), json!({}));
    }
    if tools {
        declared.insert("extensions".into(), json!({ CLIENT_TOOLS: { "allowServerCalls": true } }));
    }
    // These are the type's own shapes, so this does not fail.
    serde_json::from_value(declared.into()).unwrap_or_default()
}

pub fn to_request(
    asked: &CheckedQuestion,
    (plugin, author): (&PluginId, Author),
    correlation: Option<&str>,
) -> Result<InputRequest, ErrorData> {
    let shown = |message: &str| author.prefix(&plugin.name) + message;
    let failed =
        |error: serde_json::Error| ErrorData::internal_error(format!("a question cannot be sent: {error}"), None);
    let mut meta = RequestMetaObject::default();
    if author == Author::Plugin {
        meta.insert(SOURCE_META.to_owned(), json!({ "plugin": plugin.name }));
    }
    if let Some(correlation) = correlation {
        meta.insert(CORRELATION_META.to_owned(), correlation.into());
    }
    match asked {
        CheckedQuestion::Form { message, schema } => {
            // Parsed from the text, because the order of the properties is the order of the fields in the form.
            let requested_schema = serde_json::from_str(schema.text()).map_err(failed)?;
            let params = ElicitRequestParams::FormElicitationParams {
                meta: Some(meta),
                message: shown(message),
                requested_schema,
            };
            Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
        }
        CheckedQuestion::Url { message, url, .. } => {
            let (message, url) = (shown(message), url.clone());
            let params = ElicitRequestParams::UrlElicitationParams {
                meta: Some(meta),
                message,
                url,
                elicitation_id: String::new(),
            };
            Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
        }
        CheckedQuestion::Sample(request) => {
            let mut params: m::CreateMessageRequestParams =
                serde_json::from_value(sampling::request_to_json(request)).map_err(failed)?;
            params.meta = Some(meta);
            Ok(InputRequest::CreateMessage(CreateMessageRequest::new(params)))
        }
        CheckedQuestion::Roots => {
            let mut request = ListRootsRequest::default();
            request.extensions.insert(meta);
            Ok(InputRequest::ListRoots(request))
        }
    }
}

/// Reads the client's answer to a question. The client may send anything, so a wrong shape becomes a reply that says
/// so.
pub fn reply_from_json(asked: &CheckedQuestion, value: Value) -> ClientReply {
    let malformed = |what: &str, error: serde_json::Error| {
        ClientReply::Missing(format!("the client's answer is not {what}: {error}"))
    };
    match asked {
        CheckedQuestion::Form { .. } | CheckedQuestion::Url { .. } => {
            match serde_json::from_value::<m::ElicitResult>(value) {
                Ok(result) => {
                    let decision = match result.action {
                        m::ElicitationAction::Accept => Consent::Accept,
                        m::ElicitationAction::Decline => Consent::Decline,
                        // An unknown action is not consent.
                        _ => Consent::Cancel,
                    };
                    match asked {
                        CheckedQuestion::Url { .. } => ClientReply::Url(decision),
                        _ => ClientReply::Form(decision, result.content),
                    }
                }
                Err(error) => malformed("an elicitation result", error),
            }
        }
        CheckedQuestion::Sample(_) => match serde_json::from_value::<m::CreateMessageResult>(value) {
            Ok(result) => match sampling::answer_from_result(result) {
                Ok(answer) => ClientReply::Sample(answer),
                Err(reason) => ClientReply::Failed(reason),
            },
            Err(error) => malformed("a message of a model", error),
        },
        CheckedQuestion::Roots => match serde_json::from_value::<m::ListRootsResult>(value) {
            Ok(result) => ClientReply::Roots(
                result.roots.into_iter().map(|root| Root { uri: root.uri, name: root.name }).collect(),
            ),
            Err(error) => malformed("a list of roots", error),
        },
    }
}

/// Why a question has no answer, as a sentence for the plugin or server that asked.
pub fn describe_client_error(error: &ClientError) -> String {
    match error {
        ClientError::Unsupported(ability) => format!("the client cannot answer it: it has no {}", ability.name()),
        ClientError::Denied(denial) => {
            format!("it needs {} {}, which was not granted", denial.capability, denial.target)
        }
        ClientError::Exhausted(exhaustion) => exhaustion.to_string(),
        ClientError::Timeout(limit) => format!("there was no answer within {limit} ms"),
        ClientError::Cancelled => "the call is over".into(),
        ClientError::NotOffered(reason)
        | ClientError::Invalid(reason)
        | ClientError::Declined(reason)
        | ClientError::NotAnswered(reason)
        | ClientError::Failed(reason) => reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Side;
    use runtime::imports::FormSchema;

    #[test]
    fn a_question_says_who_asks_and_its_fields_keep_their_order() {
        let text =
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"m":{"type":"boolean"}}}"#;
        let asked = CheckedQuestion::Form { message: "?".into(), schema: FormSchema::new(text).unwrap() };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let shown = |author| serde_json::to_string(&to_request(&asked, (&plugin, author), None).unwrap()).unwrap();
        assert!(
            shown(Author::Plugin).contains(r#""message":"p asks: ?""#)
                && shown(Author::Host).contains(r#""message":"?""#)
        );
        assert!(!shown(Author::Host).contains(SOURCE_META), "who shows that would take it for the plugin's");
        let shown = shown(Author::Plugin);
        let at = |name: &str| shown.find(&format!("\"{name}\":")).unwrap();
        assert!(at("z") < at("a") && at("a") < at("m"), "{shown}");
    }
}
