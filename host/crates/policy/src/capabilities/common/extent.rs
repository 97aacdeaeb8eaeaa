//! How much of a capability a manifest requests or an operator grants, and how two such extents compare.
//!
//! Used for a rollback to agreed grants, to tell an added grant from a removed one, and while new grants wait to be confirmed.

use crate::names::{HostPattern, ToolPattern};

/// A value of a request or a grant. The default is nothing.
pub trait Extent: Clone + Default {
    fn is_nothing(&self) -> bool;

    /// Whether `other` covers all of it. Returns false if it cannot tell.
    fn is_within(&self, other: &Self) -> bool;

    /// What both cover. An entry of a list or table is kept or dropped as a whole: if two entries overlap and neither contains
    /// the other, both are dropped.
    #[must_use]
    fn limited_to(&self, other: &Self) -> Self;

    /// The entries that `other` does not contain as they are.
    #[must_use]
    fn added_to(&self, other: &Self) -> Self;

    /// The entries that no entry of `other` covers.
    #[must_use]
    fn beyond(&self, other: &Self) -> Self;
}

/// One of several things that are requested or granted together, such as a pattern.
pub trait GrantEntry: Clone + PartialEq {
    /// Whether `other` covers all of it.
    fn is_within(&self, other: &Self) -> bool {
        self == other
    }
}

impl GrantEntry for String {}

impl GrantEntry for ToolPattern {
    fn is_within(&self, other: &Self) -> bool {
        Self::is_within(self, other)
    }
}

impl GrantEntry for HostPattern {
    fn is_within(&self, other: &Self) -> bool {
        Self::is_within(self, other)
    }
}

impl Extent for bool {
    fn is_nothing(&self) -> bool {
        !self
    }

    fn is_within(&self, other: &Self) -> bool {
        !self || *other
    }

    fn limited_to(&self, other: &Self) -> Self {
        *self && *other
    }

    fn added_to(&self, other: &Self) -> Self {
        *self && !other
    }

    fn beyond(&self, other: &Self) -> Self {
        self.added_to(other)
    }
}

impl<T: GrantEntry> Extent for Vec<T> {
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }

    fn is_within(&self, other: &Self) -> bool {
        each_is_within(self, other)
    }

    fn limited_to(&self, other: &Self) -> Self {
        common(self, other)
    }

    fn added_to(&self, other: &Self) -> Self {
        self.iter().filter(|entry| !other.contains(entry)).cloned().collect()
    }

    fn beyond(&self, other: &Self) -> Self {
        self.iter().filter(|entry| !is_within_one(*entry, other)).cloned().collect()
    }
}

impl<T: GrantEntry> Extent for Option<T> {
    fn is_nothing(&self) -> bool {
        self.is_none()
    }

    fn is_within(&self, other: &Self) -> bool {
        each_is_within(self.as_slice(), other.as_slice())
    }

    fn limited_to(&self, other: &Self) -> Self {
        common(self.as_slice(), other.as_slice()).pop()
    }

    fn added_to(&self, other: &Self) -> Self {
        self.beyond(other)
    }

    fn beyond(&self, other: &Self) -> Self {
        self.clone().filter(|entry| !is_within_one(entry, other.as_slice()))
    }
}

fn each_is_within<T: GrantEntry>(these: &[T], others: &[T]) -> bool {
    these.iter().all(|one| is_within_one(one, others))
}

pub(crate) fn is_within_one<T: GrantEntry>(one: &T, others: &[T]) -> bool {
    others.iter().any(|other| one.is_within(other))
}

/// The entries of either list that are within an entry of the other.
fn common<T: GrantEntry>(these: &[T], others: &[T]) -> Vec<T> {
    let mut both: Vec<T> = these.iter().filter(|one| is_within_one(*one, others)).cloned().collect();
    let rest = others.iter().filter(|one| is_within_one(*one, these) && !is_within_one(*one, &both));
    let rest: Vec<T> = rest.cloned().collect();
    both.extend(rest);
    both
}

/// Compares structures field by field. All fields must be named, because the result is built from them.
macro_rules! extent_by_fields {
    ($type:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::Extent for $type {
            fn is_nothing(&self) -> bool {
                $($crate::Extent::is_nothing(&self.$field))&&+
            }

            fn is_within(&self, other: &Self) -> bool {
                $($crate::Extent::is_within(&self.$field, &other.$field))&&+
            }

            fn limited_to(&self, other: &Self) -> Self {
                Self { $($field: $crate::Extent::limited_to(&self.$field, &other.$field)),+ }
            }

            fn added_to(&self, other: &Self) -> Self {
                Self { $($field: $crate::Extent::added_to(&self.$field, &other.$field)),+ }
            }

            fn beyond(&self, other: &Self) -> Self {
                Self { $($field: $crate::Extent::beyond(&self.$field, &other.$field)),+ }
            }
        }
    };
}
pub(crate) use extent_by_fields;

/// What no manifest requests.
impl Extent for () {
    fn is_nothing(&self) -> bool {
        true
    }

    fn is_within(&self, (): &Self) -> bool {
        true
    }

    fn limited_to(&self, (): &Self) -> Self {}

    fn added_to(&self, (): &Self) -> Self {}

    fn beyond(&self, (): &Self) -> Self {}
}
