//! The span and audit records of questions: their kinds and outcomes, never their content.

use super::super::import_span::ImportSpan;
use super::check::CheckedQuestions;
use super::error::ClientError;
use super::question::{CheckedQuestion, ClientAnswer, Consent, FormAnswer};
use platform::audit::{AuditEvent, CallAudit};

/// Questions that are being asked together; recorded when they are answered or dropped.
pub(super) struct QuestionRecord {
    audit: CallAudit,
    kinds: Vec<&'static str>,
    outcomes: Vec<&'static str>,
    span: Option<ImportSpan>,
}

impl QuestionRecord {
    pub(super) fn new(audit: CallAudit, checked: &CheckedQuestions) -> Self {
        let asked = checked.to_client.iter().map(|(at, _, asked)| (*at, asked.kind()));
        let of_model = checked.to_model.iter().map(|(at, _)| (*at, "sample"));
        let mut kinds: Vec<_> = asked.chain(of_model).collect();
        kinds.sort_by_key(|(at, _)| *at);
        let span = kinds.first().map(|(_, kind)| {
            let method = method(kind);
            ImportSpan::start(&audit, method)
                .outward()
                .with_attribute("mcp.method.name", method)
                .with_attribute("portcullis.kind", *kind)
                .with_attribute("portcullis.questions", kinds.len() as u64)
        });
        Self { audit, kinds: kinds.into_iter().map(|(_, kind)| kind).collect(), outcomes: Vec::new(), span }
    }

    pub(super) fn answered(mut self, result: &Result<Vec<ClientAnswer>, ClientError>) {
        self.outcomes = match result {
            Ok(answers) => answers.iter().map(ClientAnswer::outcome).collect(),
            Err(error) => vec![error.name(); self.kinds.len()],
        };
        if let Some(span) = self.span.take() {
            // A user who declines has answered.
            span.finish(result.as_ref().map_or_else(ClientError::name, |_| "ok"));
        }
    }
}

impl Drop for QuestionRecord {
    fn drop(&mut self) {
        let outcomes = std::mem::take(&mut self.outcomes).into_iter().chain(std::iter::repeat("cancelled"));
        for (kind, outcome) in self.kinds.iter().zip(outcomes) {
            self.audit.record(AuditEvent::Question { kind, outcome });
        }
    }
}

/// The method of a question in MCP.
fn method(kind: &str) -> &'static str {
    match kind {
        "sample" => "sampling/createMessage",
        "roots" => "roots/list",
        _ => "elicitation/create",
    }
}

impl CheckedQuestion {
    /// The name of the kind, as in its grant.
    fn kind(&self) -> &'static str {
        match self {
            Self::Form { .. } => "form",
            Self::Url { connect: None, .. } => "url",
            Self::Url { connect: Some(_), .. } => "connect",
            Self::Sample(_) => "sample",
            Self::Roots => "roots",
        }
    }
}

impl ClientAnswer {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Form(FormAnswer::Accepted(_)) | Self::Url(Consent::Accept) => "accept",
            Self::Form(FormAnswer::Declined) | Self::Url(Consent::Decline) => "decline",
            Self::Form(FormAnswer::Cancelled) | Self::Url(Consent::Cancel) => "cancel",
            Self::Sample(_) | Self::Roots(_) => "answered",
        }
    }
}
