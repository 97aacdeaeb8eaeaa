//! The list of all capabilities, and what is derived from it: requests, grants, uses, and what is said about them.

use super::client::{ClientGrants, ClientRequests};
use super::common::capability_use::{CapabilityUse, Subject};
use super::common::extent::{Extent, extent_by_fields};
use super::common::mount::{Access, Mount};
use super::common::proposal::{GrantProposal, RequestedCapability};
use super::common::rules::CapabilityRules;
use super::filesystem::FilesystemGrant;
use super::flows::FlowPattern;
use super::http::{HttpGrant, HttpPattern, secret_hosts};
use super::scratch::{ScratchGrant, check_place};
use super::secrets::SecretGrant;
use super::state::StateGrant;
use crate::denial::Denial;
use crate::names::ToolPattern;
use serde::{Deserialize, Serialize};

macro_rules! capabilities {
    (
        requested and granted { $($name:ident: $rules:ident, $request:ty, $grant:ty => $($used:ident($use:ident)),+;)+ }
        granted only { $only:ident: $only_rules:ident, $only_grant:ty => $only_used:ident($only_use:ident); }
    ) => {
        /// What a guest can try to do, a type for each.
        pub mod uses {
            $(pub use super::super::$name::{$($use),+};)+
            pub use super::super::$only::$only_use;
        }
        use uses::*;
        $(use super::$name::$rules;)+
        use super::$only::$only_rules;

        /// What a plugin's manifest requests. The default requests nothing.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct Requests {
            $(
                #[serde(skip_serializing_if = "Extent::is_nothing")]
                pub $name: $request,
            )+
        }
        extent_by_fields!(Requests { $($name),+ });

        /// What the operator granted. The default grants nothing.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct Grants {
            $(pub $name: $grant,)+
            pub $only: $only_grant,
        }
        extent_by_fields!(Grants { $($name,)+ $only });

        /// A use of authority, as it was attempted.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Capability {
            $($($used($use),)+)+
            $only_used($only_use),
        }

        $($(
            impl From<$use> for Capability {
                fn from(used: $use) -> Self {
                    Self::$used(used)
                }
            }
        )+)+

        impl Capability {
            /// The keys of all capabilities, each with the words that follow it in a question.
            pub const KEYS: &[(&'static str, &'static str)] =
                &[$($(($use::KEY, $use::QUESTION),)+)+ ($only_use::KEY, $only_use::QUESTION)];

            /// Reads the words of a question about this key. None if there is no such question.
            fn from_words(key: &str, words: &[&str]) -> Option<Result<Self, String>> {
                $($(
                    if key == $use::KEY {
                        return $use::parse(words).map(|read| read.map(Self::$used));
                    }
                )+)+
                (key == $only_use::KEY).then(|| $only_use::parse(words))?.map(|read| read.map(Self::$only_used))
            }

            /// The grant's key in the configuration.
            pub fn key(&self) -> &'static str {
                match self {
                    $($(Self::$used(_) => $use::KEY,)+)+
                    Self::$only_used(_) => $only_use::KEY,
                }
            }

            /// What it is about, for people.
            pub fn target(&self) -> &str {
                match self {
                    $($(Self::$used(used) => used.target(),)+)+
                    Self::$only_used(used) => used.target(),
                }
            }

            /// What is checked only when it is used.
            pub fn note(&self) -> Option<&'static str> {
                match self {
                    $($(Self::$used(_) => $use::NOTE,)+)+
                    Self::$only_used(_) => $only_use::NOTE,
                }
            }

            /// Whether the operator grants it to this plugin, and its manifest requests it.
            pub(crate) fn decide(
                &self,
                subject: Subject<'_>,
                requests: &Requests,
                grants: &Grants,
            ) -> Result<(), Denial> {
                match self {
                    $($(Self::$used(used) => used.decide(subject, &requests.$name, &grants.$name),)+)+
                    Self::$only_used(used) => used.decide(subject, &(), &grants.$only),
                }
            }
        }

        impl Requests {
            /// The requests in plain language.
            pub fn described(&self) -> Vec<RequestedCapability> {
                let mut all = Vec::new();
                $(all.extend($rules::requested(&self.$name));)+
                all
            }

            /// A grant to propose for each of these requests, which are some of `all` requests of the plugin.
            pub fn proposals(&self, all: &Self) -> Vec<GrantProposal> {
                let hosts = secret_hosts(&all.http);
                let mut proposals = Vec::new();
                $(proposals.extend($rules::requested(&self.$name).into_iter().map(|one| $rules::propose(one, &hosts)));)+
                proposals
            }

            /// The requests of which nothing is granted. A request that is granted in part is left out, because the operator
            /// decided that.
            #[must_use]
            pub fn ungranted(&self, grants: &Grants) -> Self {
                Self { $($name: $rules::ungranted(&self.$name, &grants.$name)),+ }
            }
        }

        impl Grants {
            fn check_each(&self) -> Result<(), String> {
                $($rules::check(&self.$name)?;)+
                $only_rules::check(&self.$only)
            }

            /// The grants as lines, each with its key. `mounts` are the directories that the plugin really gets.
            pub fn lines(&self, mounts: &[Mount]) -> Vec<(&'static str, String)> {
                let mut lines = Vec::new();
                $(lines.extend($rules::granted(&self.$name, mounts));)+
                lines.extend($only_rules::granted(&self.$only, mounts));
                lines
            }

            /// The index of the entry of the grant that decides: for a path the innermost directory that holds it, otherwise
            /// the first entry that covers the use. `None` for grants without entries, and if no entry covers it.
            pub fn entry(&self, capability: &Capability) -> Option<usize> {
                match capability {
                    $($(Capability::$used(used) => used.entry(&self.$name),)+)+
                    Capability::$only_used(used) => used.entry(&self.$only),
                }
            }

            /// The keys of grants that have no effect because the manifest does not request the capability.
            pub(crate) fn unrequested(&self, requests: &Requests) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $(keys.extend($rules::unrequested(&requests.$name, &self.$name));)+
                keys
            }
        }

        /// The interfaces that guests import to use a capability, by the beginnings of their names, and what they are for.
        pub const CAPABILITY_IMPORTS: &[Option<(&[&str], &str)>] = &[$($rules::IMPORTS),+];
    };
}

// The key with what a manifest requests and what an operator grants, and its uses. The most powerful come first, here and
// wherever they are shown.
capabilities! {
    requested and granted {
        filesystem: FilesystemRules, Option<Access>, Vec<FilesystemGrant> => Filesystem(FilesystemUse);
        http: HttpRules, Vec<HttpPattern>, Vec<HttpGrant> => Http(HttpUse);
        secrets: SecretRules, Vec<String>, Vec<SecretGrant> => Secrets(SecretUse);
        connections: ConnectionRules, Vec<String>, Vec<String> => Connections(ConnectionUse);
        agent_tools: AgentToolRules, Vec<ToolPattern>, Vec<ToolPattern> => AgentTools(AgentToolUse);
        client: ClientRules, ClientRequests, ClientGrants => Form(FormUse), Url(UrlUse), Sample(SampleUse), Roots(RootsUse);
        publish: PublishRules, bool, bool => Publish(PublishUse);
        events: EventRules, Vec<ToolPattern>, Vec<ToolPattern> => Events(EventUse);
        env: EnvRules, Vec<String>, Vec<String> => Env(EnvUse);
        state: StateRules, bool, Option<StateGrant> => State(StateUse);
        scratch: ScratchRules, bool, Option<ScratchGrant> => Scratch(ScratchUse);
    }
    // Flows are exceptions from a rule, not something that a manifest requests.
    granted only {
        flows: FlowRules, Vec<FlowPattern> => Flow(FlowUse);
    }
}

impl Capability {
    /// Reads a question such as `http GET https://api.example.com/`; the error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let key = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let unknown = || Err(format!("`{text}` is no question; ask one of: {}", Self::questions()));
        Self::from_words(key, &rest).unwrap_or_else(unknown)
    }

    /// The questions that [`parse`](Self::parse) reads, as a list for people.
    pub fn questions() -> String {
        let question = |(key, words): &(&str, &str)| format!("{key} {words}").trim_end().to_owned();
        Self::KEYS.iter().map(question).collect::<Vec<_>>().join(", ")
    }
}

impl Requests {
    /// The requests as lines, each with its key.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let text = |detail: String| if detail.is_empty() { "yes".to_owned() } else { detail };
        self.described().into_iter().map(|it| (it.key, text(it.detail))).collect()
    }
}

impl Grants {
    /// Refuses grants that are beyond the host's limits, could never be used, or are misleading. The error is a sentence
    /// that begins with the key.
    pub fn check(&self) -> Result<(), String> {
        self.check_each()?;
        check_place(self.scratch.as_ref(), &self.filesystem)
    }

    /// The grants as they are configured, whether or not the plugin requests them.
    pub fn configured_lines(&self) -> Vec<(&'static str, String)> {
        self.lines(&self.filesystem.iter().map(Mount::from).collect::<Vec<_>>())
    }
}
