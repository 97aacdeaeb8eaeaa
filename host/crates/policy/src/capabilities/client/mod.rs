//! `client`: asking the client's user and its model, and seeing its roots.

mod sample;

pub use sample::{SampleGrant, SampleLimit, SampleUsage};

use super::common::capability_use::{CapabilityUse, use_of_name, use_without_target};
use super::common::extent::{Extent, extent_by_fields};
use super::common::mount::Mount;
use super::common::proposal::{Choice, GrantProposal, RequestedCapability};
use super::common::rules::{CapabilityRules, granted_flag, requested_flag};
use crate::limits::check_range;
use crate::names::HostPattern;
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// Requests to a model in one call. Bounds a loop that costs somebody money.
const SAMPLE_CALLS: RangeInclusive<u32> = 0..=10_000;
/// Tokens that a model may generate for one call. Bounds the bill.
const SAMPLE_TOKENS: RangeInclusive<u32> = 0..=100_000_000;

const BY_THE_CLIENT: &str = "the client must offer it as well, on each request";

/// What a plugin's manifest requests under `client`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ClientRequests {
    /// Show forms to the user.
    #[serde(skip_serializing_if = "Extent::is_nothing")]
    pub form: bool,
    /// Send the user to pages; the operator chooses the hosts.
    #[serde(skip_serializing_if = "Extent::is_nothing")]
    pub url: bool,
    #[serde(skip_serializing_if = "Extent::is_nothing")]
    pub sample: bool,
    #[serde(skip_serializing_if = "Extent::is_nothing")]
    pub roots: bool,
}

extent_by_fields!(ClientRequests { form, url, sample, roots });

/// What the operator granted under `client`. The default grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ClientGrants {
    pub form: bool,
    pub url: Vec<HostPattern>,
    pub sample: Option<SampleGrant>,
    pub roots: bool,
}

extent_by_fields!(ClientGrants { form, url, sample, roots });

pub(crate) struct ClientRules;

impl CapabilityRules for ClientRules {
    const KEY: &'static str = "client";
    const IMPORTS: Option<(&'static [&'static str], &'static str)> =
        Some((&["portcullis:plugin/client@"], "the user, the client's model and its folders, as you grant"));
    type Request = ClientRequests;
    type Grant = ClientGrants;

    fn check(grant: &ClientGrants) -> Result<(), String> {
        if let Some(SampleGrant { calls, tokens, fallback: _ }) = grant.sample {
            check_range("grants.client.sample: calls", calls, SAMPLE_CALLS)?;
            check_range("grants.client.sample: tokens", tokens, SAMPLE_TOKENS)?;
        }
        Ok(())
    }

    fn requested(request: &ClientRequests) -> Vec<RequestedCapability> {
        let ClientRequests { form, url, sample, roots } = request;
        let parts = [
            (*form, FormUse::KEY, "asks the user questions, which are shown as coming from the plugin"),
            (*url, UrlUse::KEY, "sends the user to pages of the hosts that you name"),
            (*sample, SampleUse::KEY, "uses the client's model, which may cost money"),
            (*roots, RootsUse::KEY, "sees which folders the user works in"),
        ];
        parts.into_iter().flat_map(|(is_requested, key, effect)| requested_flag(is_requested, key, effect)).collect()
    }

    fn ungranted(request: &ClientRequests, grant: &ClientGrants) -> ClientRequests {
        let ClientGrants { form, url, sample, roots } = grant;
        ClientRequests {
            form: request.form && !form,
            url: request.url && url.is_empty(),
            sample: request.sample && sample.is_none(),
            roots: request.roots && !roots,
        }
    }

    fn granted(grant: &ClientGrants, _: &[Mount]) -> Vec<(&'static str, String)> {
        let ClientGrants { form, url, sample, roots } = grant;
        let mut lines = granted_flag(FormUse::KEY, *form);
        lines.extend(url.iter().map(|host| (UrlUse::KEY, host.as_str().to_owned())));
        lines.extend(sample.iter().map(|SampleGrant { calls, tokens, fallback }| {
            let fallback = if *fallback { ", or the host's own model" } else { "" };
            (SampleUse::KEY, format!("{calls} requests, {tokens} tokens a call{fallback}"))
        }));
        lines.extend(granted_flag(RootsUse::KEY, *roots));
        lines
    }

    fn unrequested(request: &ClientRequests, grant: &ClientGrants) -> Vec<&'static str> {
        let ClientGrants { form, url, sample, roots } = grant;
        let parts = [
            (FormUse::KEY, *form && !request.form),
            (UrlUse::KEY, !url.is_empty() && !request.url),
            (SampleUse::KEY, sample.is_some() && !request.sample),
            (RootsUse::KEY, *roots && !request.roots),
        ];
        parts.into_iter().filter(|(_, is_vain)| *is_vain).map(|(key, _)| key).collect()
    }

    fn propose(requested: RequestedCapability, hosts: &[String]) -> GrantProposal {
        if requested.key == UrlUse::KEY {
            let suggested = hosts.iter().find(|host| !host.contains('*')).cloned();
            let line = "client.url = [\"HOST\"]".to_owned();
            return GrantProposal { choose: Some(Choice::PageHost), suggested, ..GrantProposal::new(requested, line) };
        }
        if requested.key == SampleUse::KEY {
            return GrantProposal::new(requested, "client.sample = { calls = 4, tokens = 2000 }".to_owned());
        }
        GrantProposal::of_key(requested)
    }
}

/// The user is shown a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormUse;

use_without_target!(
    FormUse, ClientRules, "client.form": "a form", granted by "client.form = true",
    requested as form, granted as form, note: BY_THE_CLIENT
);

/// The user is sent to a page of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlUse {
    pub host: String,
}

use_of_name!(
    UrlUse { host }, ClientRules, "client.url": "HOST",
    requested by |requested, host| requested.url,
    granted by |granted, host| granted.url.iter().position(|it| it.covers(host)), note: BY_THE_CLIENT
);

/// The client's model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleUse;

use_without_target!(
    SampleUse, ClientRules, "client.sample": "the client's model", granted by "client.sample = {}",
    requested as sample, granted as sample, note: BY_THE_CLIENT
);

/// The client's roots are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootsUse;

use_without_target!(
    RootsUse, ClientRules, "client.roots": "the client's roots", granted by "client.roots = true",
    requested as roots, granted as roots, note: BY_THE_CLIENT
);
