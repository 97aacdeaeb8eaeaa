//! `flows`: where private results may go. A flow is an exception from a rule, so a manifest does not request it.

mod pattern;
mod seen_origins;

pub use pattern::{FlowError, FlowPattern, Origin, PrivateOrigins, Recipient, first_blocked};
pub(crate) use seen_origins::SeenOrigins;

use super::common::capability_use::{CapabilityUse, Subject};
use super::common::extent::GrantEntry;
use super::common::mount::Mount;
use super::common::proposal::RequestedCapability;
use super::common::rules::CapabilityRules;
use crate::denial::Denial;
use crate::identity::PluginId;

impl GrantEntry for FlowPattern {}

pub(crate) struct FlowRules;

impl CapabilityRules for FlowRules {
    const KEY: &'static str = "flows";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> = None;
    type Request = ();
    type Grant = Vec<FlowPattern>;

    fn check(_: &Self::Grant) -> Result<(), String> {
        Ok(())
    }

    fn requested((): &()) -> Vec<RequestedCapability> {
        Vec::new()
    }

    fn ungranted((): &(), _: &Self::Grant) {}

    fn granted(grant: &Self::Grant, _: &[Mount]) -> Vec<(&'static str, String)> {
        grant.iter().map(|flow| (Self::KEY, flow.as_str().to_owned())).collect()
    }
}

/// A result that one origin marked private, sent to another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowUse {
    pub(crate) flow: String,
}

impl FlowUse {
    fn new(from: &Origin, to: &Recipient) -> Self {
        Self { flow: format!("{from} -> {to}") }
    }

    fn ends(&self) -> Option<(Origin, Recipient)> {
        let (from, to) = self.flow.split_once(" -> ")?;
        Some((Origin::parse(from)?, Recipient::parse(to)?))
    }

    /// The flow to suggest in a remedy. Both sides must look like names from the configuration; anything else becomes a
    /// placeholder.
    fn known(&self) -> &str {
        match FlowPattern::new(&self.flow) {
            Ok(_) if self.flow.chars().all(|c| c.is_ascii_alphanumeric() || " .->_".contains(c)) => &self.flow,
            _ => "<from> -> <to>",
        }
    }
}

impl CapabilityUse for FlowUse {
    type Rules = FlowRules;
    const KEY: &'static str = FlowRules::KEY;
    const QUESTION: &'static str = "'FROM -> TO'";
    const NOT_GRANTED: &'static str = "would pass on a private result, which is not granted";

    fn parse(words: &[&str]) -> Option<Result<Self, String>> {
        let [from, "->", to] = words else { return None };
        let flow = match (Origin::parse(from), Recipient::parse(to)) {
            (Some(_), Some(_)) => Ok(Self { flow: format!("{from} -> {to}") }),
            _ => Err(format!(
                "`{from} -> {to}` is no flow: each is client, model, user, agent.<name> or upstream.<name>; the second may be connections.<name> or host-model too"
            )),
        };
        Some(flow)
    }

    fn target(&self) -> &str {
        &self.flow
    }

    fn grant_line(&self) -> String {
        format!(r#"flows = ["{}"]"#, self.known())
    }

    fn decide(&self, subject: Subject<'_>, (): &(), granted: &Vec<FlowPattern>) -> Result<(), Denial> {
        let (from, to) = self.ends().ok_or_else(|| self.not_granted(subject.plugin))?;
        check_flow(subject.plugin, granted, &PrivateOrigins::from([from]), &to)
    }

    fn entry(&self, granted: &Vec<FlowPattern>) -> Option<usize> {
        let (from, to) = self.ends()?;
        granted.iter().position(|it| it.covers(&from, &to))
    }
}

/// Whether a call that has seen these private results may send anything at all to this recipient.
pub(crate) fn check_flow(
    plugin: &PluginId,
    granted: &[FlowPattern],
    secrets: &PrivateOrigins,
    to: &Recipient,
) -> Result<(), Denial> {
    match first_blocked(secrets, to, granted) {
        None => Ok(()),
        Some(from) => Err(FlowUse::new(from, to).not_granted(plugin)),
    }
}
