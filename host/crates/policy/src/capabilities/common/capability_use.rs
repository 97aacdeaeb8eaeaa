//! A use of a capability, as it was attempted.

use super::mount::Mount;
use super::rules::CapabilityRules;
use crate::denial::Denial;
use crate::identity::PluginId;

/// Who uses a capability.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) plugin: &'a PluginId,
    /// The directories that are mounted for the plugin.
    pub(crate) mounts: &'a [Mount],
}

/// What a guest tries to do with a capability.
pub(crate) trait CapabilityUse: Sized {
    type Rules: CapabilityRules;

    /// The grant's key in the configuration.
    const KEY: &'static str;

    /// The words that follow the key when somebody asks whether it would be allowed, such as `METHOD URL`.
    const QUESTION: &'static str = "";

    /// Why it is refused when it is not granted: the end of a sentence.
    const NOT_GRANTED: &'static str = "is not granted";

    /// What is checked only when it is used.
    const NOTE: Option<&'static str> = None;

    /// Reads the words of a question; none if they are not those of [`QUESTION`](Self::QUESTION).
    fn parse(words: &[&str]) -> Option<Result<Self, String>>;

    /// What it is about, for people.
    fn target(&self) -> &str;

    /// A line of TOML that grants it. A guest chose the target and an operator may paste the line, so anything unusual becomes
    /// a placeholder.
    fn grant_line(&self) -> String;

    /// Whether it is allowed.
    fn decide(
        &self,
        subject: Subject<'_>,
        requested: &<Self::Rules as CapabilityRules>::Request,
        granted: &<Self::Rules as CapabilityRules>::Grant,
    ) -> Result<(), Denial>;

    /// The index of the entry of the grant that decides. None for a grant without entries, and if no entry covers the use.
    fn entry(&self, _granted: &<Self::Rules as CapabilityRules>::Grant) -> Option<usize> {
        None
    }

    /// The operator has not granted it.
    fn not_granted(&self, plugin: &PluginId) -> Denial {
        Denial::with_grant(plugin, Self::KEY, self.target(), Self::NOT_GRANTED, &self.grant_line())
    }

    /// The manifest does not request it, whether it is granted or not.
    fn not_requested(&self, plugin: &PluginId) -> Denial {
        Denial::not_requested(plugin, Self::KEY, self.target())
    }
}

/// Requires both grant and request; the denial names the missing one. If both are missing it names the request, because a
/// grant alone would not help.
pub(crate) fn both<U: CapabilityUse>(
    plugin: &PluginId,
    granted: bool,
    requested: bool,
    used: impl Fn() -> U,
) -> Result<(), Denial> {
    match (granted, requested) {
        (_, false) => Err(used().not_requested(plugin)),
        (false, true) => Err(used().not_granted(plugin)),
        (true, true) => Ok(()),
    }
}

/// Says what a use without a target of its own is. It is read from its key alone, and any grant of the key allows it.
macro_rules! use_without_target {
    ($name:ident, $rules:ty, $key:literal: $target:literal, granted by $line:literal
        $(, requested as $requested:ident, granted as $granted:ident)? $(, note: $note:expr)?) => {
        impl $crate::capabilities::common::capability_use::CapabilityUse for $name {
            type Rules = $rules;
            const KEY: &'static str = $key;
            $(const NOTE: Option<&'static str> = Some($note);)?

            fn parse(words: &[&str]) -> Option<Result<Self, String>> {
                words.is_empty().then_some(Ok(Self))
            }

            fn target(&self) -> &str {
                $target
            }

            fn grant_line(&self) -> String {
                $line.to_owned()
            }

            fn decide(
                &self,
                subject: $crate::capabilities::common::capability_use::Subject<'_>,
                requested: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Request,
                granted: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Grant,
            ) -> Result<(), $crate::Denial> {
                use $crate::capabilities::common::extent::Extent;
                let (requested, granted) = (&requested$(.$requested)?, &granted$(.$granted)?);
                let (is_granted, is_requested) = (!granted.is_nothing(), !requested.is_nothing());
                $crate::capabilities::common::capability_use::both(subject.plugin, is_granted, is_requested, || Self)
            }
        }
    };
}
pub(crate) use use_without_target;

/// Says what a use of something that has a name is. It is granted by a list of names or patterns.
macro_rules! use_of_name {
    ($name:ident { $field:ident }, $rules:ty, $key:literal: $question:literal,
        requested by |$requested:ident, $wanted:ident| $is_requested:expr,
        granted by |$granted:ident, $entry_of:ident| $entry:expr $(, note: $note:expr)?) => {
        impl $name {
            /// Whether it is allowed to use what has this name.
            pub(crate) fn decide_name(
                plugin: &$crate::PluginId,
                $requested: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Request,
                granted: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Grant,
                $wanted: &str,
            ) -> Result<(), $crate::Denial> {
                let (is_granted, is_requested) = (Self::entry_of(granted, $wanted).is_some(), $is_requested);
                let used = || Self { $field: $wanted.to_owned() };
                $crate::capabilities::common::capability_use::both(plugin, is_granted, is_requested, used)
            }

            fn entry_of(
                $granted: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Grant,
                $entry_of: &str,
            ) -> Option<usize> {
                $entry
            }
        }

        impl $crate::capabilities::common::capability_use::CapabilityUse for $name {
            type Rules = $rules;
            const KEY: &'static str = $key;
            const QUESTION: &'static str = $question;
            $(const NOTE: Option<&'static str> = Some($note);)?

            fn parse(words: &[&str]) -> Option<Result<Self, String>> {
                let [name] = words else { return None };
                Some(Ok(Self { $field: (*name).to_owned() }))
            }

            fn target(&self) -> &str {
                &self.$field
            }

            fn grant_line(&self) -> String {
                format!("{} = [\"{}\"]", $key, $crate::denial::word(&self.$field))
            }

            fn decide(
                &self,
                subject: $crate::capabilities::common::capability_use::Subject<'_>,
                requested: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Request,
                granted: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Grant,
            ) -> Result<(), $crate::Denial> {
                Self::decide_name(subject.plugin, requested, granted, &self.$field)
            }

            fn entry(
                &self,
                granted: &<$rules as $crate::capabilities::common::rules::CapabilityRules>::Grant,
            ) -> Option<usize> {
                Self::entry_of(granted, &self.$field)
            }
        }
    };
}
pub(crate) use use_of_name;
