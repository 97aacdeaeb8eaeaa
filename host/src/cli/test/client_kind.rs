//! What the client of a tested call can be asked.

use runtime::imports::Abilities;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClientKind {
    Form,
    Url,
    /// A model, which may use tools.
    Sample,
}

impl ClientKind {
    const ALL: [Self; 3] = [Self::Form, Self::Url, Self::Sample];

    /// Everything that a transcript can answer, unless `kinds` limits it.
    pub(super) fn abilities(kinds: Option<&[Self]>) -> Abilities {
        let has = |kind| kinds.unwrap_or(&Self::ALL).contains(&kind);
        let sample = has(Self::Sample);
        Abilities { form: has(Self::Form), url: has(Self::Url), sample, sample_tools: sample, roots: false }
    }

    /// Converts the abilities of a live client. None if it has all of them.
    pub(super) fn from_live(abilities: Abilities) -> Option<Vec<Self>> {
        let has = |kind: &Self| match kind {
            Self::Form => abilities.form,
            Self::Url => abilities.url,
            Self::Sample => abilities.sample,
        };
        let kinds: Vec<_> = Self::ALL.into_iter().filter(has).collect();
        (kinds != Self::ALL).then_some(kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_what_it_can_do() {
        for kinds in [None, Some(vec![]), Some(vec![ClientKind::Form]), Some(vec![ClientKind::Url, ClientKind::Sample])]
        {
            assert_eq!(ClientKind::from_live(ClientKind::abilities(kinds.as_deref())), kinds);
        }
    }
}
