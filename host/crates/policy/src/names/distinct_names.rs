//! Names that can be offered side by side because no client, model or person mistakes one for another.

use super::folded_names::{forms, skeleton};
use std::collections::HashMap;

/// Names with their owners.
pub struct DistinctNames<O> {
    /// Keyed by each form that clients may give a name.
    forms: HashMap<String, NameClash<O>>,
    /// Keyed by the skeleton of each form, which is the same for forms that look alike.
    skeletons: HashMap<String, NameClash<O>>,
}

/// The earlier name that the new one may be mistaken for.
#[derive(Debug, Clone, PartialEq)]
pub struct NameClash<O> {
    pub name: String,
    pub owner: O,
}

impl<O> Default for DistinctNames<O> {
    fn default() -> Self {
        Self { forms: HashMap::new(), skeletons: HashMap::new() }
    }
}

impl<O: Clone + PartialEq> DistinctNames<O> {
    /// Adds a name. Fails if a client may turn it and an earlier one into the same name, or if it looks like a name of another
    /// owner. Names of one owner may look alike: mixing them up never leads to somebody else.
    pub fn insert(&mut self, name: &str, owner: &O) -> Result<(), NameClash<O>> {
        let forms = forms(name);
        let skeletons: Vec<_> = forms.iter().map(|form| skeleton(form)).collect();
        let same = forms.iter().find_map(|form| self.forms.get(form));
        let alike = || skeletons.iter().filter_map(|it| self.skeletons.get(it)).find(|it| it.owner != *owner);
        if let Some(clash) = same.or_else(alike) {
            return Err(clash.clone());
        }
        let entry = NameClash { name: name.to_owned(), owner: owner.clone() };
        self.forms.extend(forms.into_iter().map(|form| (form, entry.clone())));
        self.skeletons.extend(skeletons.into_iter().map(|skeleton| (skeleton, entry.clone())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_taken_for_an_earlier_name_is_refused() {
        let mut names = DistinctNames::default();
        names.insert("a__get_1", &"a").unwrap();
        let clash = NameClash { name: "a__get_1".to_owned(), owner: "a" };
        for (name, owner) in [("a__get_1", "a"), ("a__Get-1", "a"), ("a_get__1", "b"), ("a__get_l", "b")] {
            assert_eq!(names.insert(name, &owner), Err(clash.clone()), "{name}");
        }
        names.insert("a__get_l", &"a").unwrap();
        names.insert("b__get_1", &"b").unwrap();
    }

    #[test]
    fn a_name_that_is_what_clients_leave_of_a_longer_one_is_refused() {
        let long = "a__list_all_the_things_that_are_in_a_very_long_list";
        for (first, second) in [(&long[..46], long), (long, &long[..46])] {
            let mut names = DistinctNames::default();
            names.insert(first, &()).unwrap();
            assert!(names.insert(second, &()).is_err(), "{second}");
        }
    }
}
