//! Bounds the cost of checking one value: each visit of a location is counted, and when the budget is used up all
//! locations look empty.
//!
//! The validation library has no limits of its own, but it reads values through the types of this module. When the
//! budget is used up, every location visits empty, so validation ends by itself and its verdict is discarded.

use super::cost::SchemaCost;
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, SerdeJson};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::cell::Cell;

/// Visits that any value may take. Together with those below it bounds schemas that return to one location repeatedly,
/// which would take `2^depth` visits.
const BASE_VISITS: u64 = 200_000;
/// Additional visits for each of a value's first locations: alternatives that share fields visit each location at least
/// once per alternative.
const VISITS_PER_LOCATION: u64 = 64;
const FIRST_LOCATIONS: u64 = 50_000;
/// Additional visits for each further location, so that large plain values pass.
const VISITS_PER_FURTHER_LOCATION: u64 = 8;
/// Visits while errors are collected. Each error may be kept until the end, so this bounds memory.
const VISITS_FOR_ERRORS: u64 = 50_000;
/// Bytes of text that are matched against patterns, times the pattern's weight. A linear-time engine takes as many
/// steps per byte as the pattern has states, so a long text with a large pattern takes minutes. This allows half a MiB
/// for patterns such as those of names, dates or Base64.
const TEXT_BUDGET: u64 = 512 << 10;

/// The remaining budget while one value is checked.
pub(super) struct CheckMeter {
    visits: Cell<u64>,
    text: Cell<u64>,
    per_location: u64,
    weight: u64,
    names: u64,
}

impl CheckMeter {
    /// For a value with this number of locations.
    pub(super) fn new(cost: &SchemaCost, locations: u64) -> Self {
        let further = locations.saturating_mul(VISITS_PER_FURTHER_LOCATION);
        Self::with(cost, BASE_VISITS + VISITS_PER_LOCATION * locations.min(FIRST_LOCATIONS) + further)
    }

    /// For collecting errors.
    pub(super) fn for_errors(cost: &SchemaCost) -> Self {
        Self::with(cost, VISITS_FOR_ERRORS)
    }

    fn with(cost: &SchemaCost, visits: u64) -> Self {
        let names = cost.weight * cost.name_patterns;
        // Covers subschemas that never read the location.
        let per_location = 1 + cost.at_location / 64;
        Self { visits: Cell::new(visits), text: Cell::new(TEXT_BUDGET), per_location, weight: cost.weight, names }
    }

    /// Whether the budget was exceeded; then the verdict means nothing.
    pub(super) fn is_used_up(&self) -> bool {
        self.visits.get() == 0 || self.text.get() == 0
    }

    /// Returns whether the budget sufficed.
    fn take(&self, visits: u64) -> bool {
        self.visits.set(self.visits.get().saturating_sub(visits));
        !self.is_used_up()
    }

    fn take_text(&self, bytes: usize, weight: u64) -> bool {
        self.text.set(self.text.get().saturating_sub(weight.saturating_mul(bytes as u64)));
        self.take(1)
    }
}

/// The representation of values that the validation library reads.
pub(super) struct Metered;

/// A location of a value. Without a meter it is a property name, which is counted with its object.
#[derive(Clone, Copy)]
pub(super) struct Location<'a> {
    pub(super) value: &'a Value,
    pub(super) meter: Option<&'a CheckMeter>,
}

impl<'a> Location<'a> {
    fn visit(&self) -> bool {
        self.meter.is_none_or(|meter| meter.take(1))
    }

    fn child(&self, value: &'a Value) -> Option<Self> {
        self.meter.is_none_or(|meter| meter.take(meter.per_location)).then_some(Self { value, ..*self })
    }
}

impl Json for Metered {
    type Node<'a> = Location<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Location<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        f(Location { value: buffer, meter: None })
    }
}

impl<'a> Node<'a, Metered> for Location<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        self.value.as_object().filter(|_| self.visit()).map(|members| Members { members, location: *self })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        self.value.as_array().filter(|_| self.visit()).map(|items| Items { items, location: *self })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        let text = self.value.as_str()?;
        self.meter.is_none_or(|meter| meter.take_text(text.len(), meter.weight)).then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.value.as_number().filter(|_| self.visit())
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool().filter(|_| self.visit())
    }

    fn is_null(&self) -> bool {
        !self.visit() || self.value.is_null()
    }

    fn json_type(&self) -> JsonType {
        if self.visit() { <&Value as Node<SerdeJson>>::json_type(&self.value) } else { JsonType::Null }
    }

    fn string_length(&self) -> Option<u64> {
        self.visit().then(|| <&Value as Node<SerdeJson>>::string_length(&self.value)).flatten()
    }

    fn equals_value(&self, expected: &Value) -> bool {
        self.visit() && <&Value as Node<SerdeJson>>::equals_value(&self.value, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        self.visit();
        <&Value as Node<SerdeJson>>::identity(&self.value)
    }
}

pub(super) struct Members<'a> {
    members: &'a Map<String, Value>,
    location: Location<'a>,
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Location<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.members.len()
    }

    fn get(&self, key: &String) -> Option<Location<'a>> {
        self.members.get(key).map_or_else(
            || {
                self.location.visit();
                None
            },
            |value| self.location.child(value),
        )
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter { members: self.members.iter(), location: self.location }
    }
}

pub(super) struct MembersIter<'a> {
    members: serde_json::map::Iter<'a>,
    location: Location<'a>,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Location<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.members.next()?;
        let patterns =
            self.location.meter.is_none_or(|meter| meter.names == 0 || meter.take_text(name.len(), meter.names));
        self.location.child(value).filter(|_| patterns).map(|place| (name.as_str(), place))
    }
}

pub(super) struct Items<'a> {
    items: &'a [Value],
    location: Location<'a>,
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Location<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter { items: self.items.iter(), location: self.location }
    }

    /// The library's hash ignores the shape of nested values, so arrays of empty arrays all collide. The price assumes
    /// that each item is compared with each other item.
    fn is_unique(&self) -> bool {
        let nested = self.items.iter().filter(|item| item.is_array() || item.is_object()).count() as u64;
        let price = (self.items.len() as u64).saturating_add(nested.saturating_mul(nested) / 16);
        self.location.meter.is_none_or(|meter| meter.take(price)) && jsonschema::json::unique::is_unique(self.items)
    }
}

pub(super) struct ItemsIter<'a> {
    items: std::slice::Iter<'a, Value>,
    location: Location<'a>,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Location<'a>;

    fn next(&mut self) -> Option<Location<'a>> {
        self.items.next().and_then(|value| self.location.child(value))
    }
}
