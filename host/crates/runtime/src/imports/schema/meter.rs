//! What checking one value may cost: each look at a place of it is counted, and past the last one there is nothing to see.
//!
//! A library walks schema and value together and knows no limit; what it walks over is ours. When the count is used up
//! every place looks empty, so the walk comes to its end by itself, and its verdict is not used.

use super::cost::Cost;
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::Cell;

/// Looks at places that any value may take. With those below it bounds schemas that come back to one place again and
/// again: `2^depth` looks otherwise.
const LOOKS: u64 = 200_000;
/// What each of the value's first places adds, and how many those are: alternatives that share their fields look at each
/// place once or more for each of them.
const LOOKS_PER_PLACE: u64 = 64;
const FIRST_PLACES: u64 = 50_000;
/// What each further place adds, so that large plain values pass.
const LOOKS_PER_FURTHER_PLACE: u64 = 8;
/// Looks while errors are worded. Each may be kept until the end, which bounds memory.
const LOOKS_FOR_WORDS: u64 = 50_000;
/// Bytes of text that patterns are held against, times their weight. An engine in linear time takes as many steps for a
/// byte as the pattern has states, and a long text with a large pattern is minutes. Half a MiB for a pattern such as those
/// of names, dates or Base64.
const TEXT: u64 = 512 << 10;

/// Counts down while one value is checked.
pub(super) struct Meter {
    looks: Cell<u64>,
    text: Cell<u64>,
    per_place: u64,
    weight: u64,
    names: u64,
}

impl Meter {
    /// For a value of so many places.
    pub(super) fn new(cost: &Cost, places: u64) -> Self {
        let further = places.saturating_mul(LOOKS_PER_FURTHER_PLACE);
        Self::with(cost, LOOKS + LOOKS_PER_PLACE * places.min(FIRST_PLACES) + further)
    }

    /// For wording what is wrong.
    pub(super) fn for_words(cost: &Cost) -> Self {
        Self::with(cost, LOOKS_FOR_WORDS)
    }

    fn with(cost: &Cost, looks: u64) -> Self {
        let names = cost.weight * cost.name_patterns;
        // What a place costs beside the looks themselves: subschemas that never look.
        let per_place = 1 + cost.here / 64;
        Self { looks: Cell::new(looks), text: Cell::new(TEXT), per_place, weight: cost.weight, names }
    }

    /// Whether more was wanted than there was: then the verdict means nothing.
    pub(super) fn is_used_up(&self) -> bool {
        self.looks.get() == 0 || self.text.get() == 0
    }

    /// Whether there was enough for this.
    fn take(&self, looks: u64) -> bool {
        self.looks.set(self.looks.get().saturating_sub(looks));
        !self.is_used_up()
    }

    fn take_text(&self, bytes: usize, weight: u64) -> bool {
        self.text.set(self.text.get().saturating_sub(weight.saturating_mul(bytes as u64)));
        self.take(1)
    }
}

/// The representation of values that the library walks over.
pub(super) struct Metered;

/// A place of a value. Without a meter it is a property's name, counted with its object.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) value: &'a Value,
    pub(super) meter: Option<&'a Meter>,
}

impl<'a> Place<'a> {
    fn look(&self) -> bool {
        self.meter.is_none_or(|meter| meter.take(1))
    }

    fn below(&self, value: &'a Value) -> Option<Self> {
        self.meter.is_none_or(|meter| meter.take(meter.per_place)).then_some(Self { value, ..*self })
    }
}

impl Json for Metered {
    type Node<'a> = Place<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Place<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        f(Place { value: buffer, meter: None })
    }
}

impl<'a> Node<'a, Metered> for Place<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        self.value.as_object().filter(|_| self.look()).map(|members| Members { members, of: *self })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        self.value.as_array().filter(|_| self.look()).map(|items| Items { items, of: *self })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.value.as_str()?;
        self.meter.is_none_or(|meter| meter.take_text(text.len(), meter.weight)).then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.value.as_number().filter(|_| self.look())
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool().filter(|_| self.look())
    }

    fn is_null(&self) -> bool {
        !self.look() || self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        if self.look() { <&Value as Node<SerdeJson>>::json_type(&self.value) } else { JsonType::Null }
    }

    fn string_length(&self) -> Option<u64> {
        self.look().then(|| <&Value as Node<SerdeJson>>::string_length(&self.value)).flatten()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.look() && <&Value as Node<SerdeJson>>::equals_value(&self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.look();
        <&Value as Node<SerdeJson>>::identity(&self.value)
    }
}

/// An object's members.
pub(super) struct Members<'a> {
    members: &'a Map<String, Value>,
    of: Place<'a>,
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Place<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Place<'a>> {
        self.members.get(key).map_or_else(
            || {
                self.of.look();
                None
            },
            |value| self.of.below(value),
        )
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { members: self.members.iter(), of: self.of }
    }
}

/// Goes through an object.
pub(super) struct MembersIter<'a> {
    members: serde_json::map::Iter<'a>,
    of: Place<'a>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Place<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        let patterns = self.of.meter.is_none_or(|meter| meter.names == 0 || meter.take_text(name.len(), meter.names));
        self.of.below(value).filter(|_| patterns).map(|place| (name.as_str(), place))
    }
}

/// An array's items.
pub(super) struct Items<'a> {
    items: &'a [Value],
    of: Place<'a>,
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Place<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter { items: self.items.iter(), of: self.of }
    }

    /// The library hashes what is nested without its shape, so arrays of empty arrays all collide: priced as if each
    /// was compared to each.
    fn is_unique(&self) -> bool {
        let nested = self.items.iter().filter(|item| item.is_array() || item.is_object()).count() as u64;
        let price = (self.items.len() as u64).saturating_add(nested.saturating_mul(nested) / 16);
        self.of.meter.is_none_or(|meter| meter.take(price)) && jsonschema::json::unique::is_unique(self.items)
    }
}

/// Goes through an array.
pub(super) struct ItemsIter<'a> {
    items: std::slice::Iter<'a, Value>,
    of: Place<'a>,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Place<'a>;

    fn next(&mut self) -> Option<Place<'a>> {
        self.items.next().and_then(|value| self.of.below(value))
    }
}
