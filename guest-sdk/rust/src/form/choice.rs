//! Enumerations in forms.

use serde_json::{Map, Value, json};

use super::field::{FormField, HasLength, object};

/// An enum from which a user can choose, by `#[derive(Choice)]`. It can be a field of a [`Form`](crate::Form); a `Vec`
/// of it is a field with several choices.
///
/// A variant keeps its own name on the wire; `#[form(rename_all = "kebab-case")]` on the enum and `#[form(rename =
/// "...")]` on a variant change it as in serde. `#[form(title = "...")]` sets what the user sees.
///
/// ```
/// use portcullis_guest::Choice;
///
/// #[derive(Choice)]
/// #[form(rename_all = "kebab-case")]
/// enum Class {
///     Economy,
///     #[form(title = "Premium economy")]
///     PremiumEconomy,
/// }
///
/// assert_eq!(Class::PremiumEconomy.value(), "premium-economy");
/// assert_eq!(Class::Economy.title(), None);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a choice",
    label = "not a choice",
    note = "lists in forms are lists of choices: derive `Choice` for an enum of plain names"
)]
pub trait Choice: Sized {
    /// The names on the wire, each with its title if it has one, in the order of the variants.
    const OPTIONS: &'static [(&'static str, Option<&'static str>)];

    /// Index of this variant in [`OPTIONS`](Self::OPTIONS).
    fn index(&self) -> usize;

    /// The variant at this index of [`OPTIONS`](Self::OPTIONS).
    fn from_index(index: usize) -> Option<Self>;

    /// The name on the wire.
    fn value(&self) -> &'static str {
        Self::OPTIONS[self.index()].0
    }

    /// The title that the user sees instead of the name.
    fn title(&self) -> Option<&'static str> {
        Self::OPTIONS[self.index()].1
    }

    /// The variant with this name on the wire.
    fn from_value(value: &str) -> Option<Self> {
        Self::OPTIONS.iter().position(|(name, _)| *name == value).and_then(Self::from_index)
    }
}

/// Whether clients are shown titles: if one option has a title, all get one.
fn titled<C: Choice>() -> bool {
    C::OPTIONS.iter().any(|(_, title)| title.is_some())
}

fn names<C: Choice>() -> Value {
    C::OPTIONS.iter().map(|(name, _)| *name).collect()
}

fn constants<C: Choice>() -> Value {
    C::OPTIONS.iter().map(|(name, title)| json!({ "const": name, "title": title.unwrap_or(name) })).collect()
}

#[diagnostic::do_not_recommend]
impl<C: Choice> FormField for C {
    type Plain = Self;

    fn schema() -> Map<String, Value> {
        object(match titled::<C>() {
            true => json!({ "type": "string", "oneOf": constants::<C>() }),
            false => json!({ "type": "string", "enum": names::<C>() }),
        })
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().and_then(C::from_value)
    }

    fn write(&self) -> Value {
        self.value().into()
    }

    fn from_plain(plain: Self) -> Self {
        plain
    }
}

impl<C: Choice> FormField for Vec<C> {
    type Plain = Self;

    fn schema() -> Map<String, Value> {
        object(match titled::<C>() {
            true => json!({ "type": "array", "items": { "anyOf": constants::<C>() } }),
            false => json!({ "type": "array", "items": { "type": "string", "enum": names::<C>() } }),
        })
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(C::read).collect()
    }

    fn write(&self) -> Value {
        self.iter().map(C::write).collect()
    }

    fn from_plain(plain: Self) -> Self {
        plain
    }
}

impl<T> HasLength for Vec<T> {
    const BOUNDS: [&str; 2] = ["minItems", "maxItems"];
}
