//! Lists of an offer: bounded, sorted and without duplicates.

use super::error::OfferError;
use super::limits::MAX_TEXT;
use policy::{DistinctNames, NameClash};

/// Checks the number of items and the size of their texts.
pub(super) fn check_bounds<T>(
    kind: &'static str,
    items: &[T],
    limit: usize,
    size: impl Fn(&T) -> usize,
) -> Result<(), OfferError> {
    if items.len() > limit {
        return Err(OfferError::TooMany { kind, count: items.len(), limit });
    }
    match items.iter().map(size).sum() {
        size if size > MAX_TEXT => Err(OfferError::TooMuchText { kind, size }),
        _ => Ok(()),
    }
}

/// Sorts items by a key, which must be unique.
pub(super) fn sort_unique<T>(
    kind: &'static str,
    mut items: Vec<T>,
    key: impl Fn(&T) -> &str,
) -> Result<Vec<T>, OfferError> {
    items.sort_by(|a, b| key(a).cmp(key(b)));
    match items.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
        Some(pair) => Err(OfferError::Duplicate { kind, name: key(&pair[0]).to_owned() }),
        None => Ok(items),
    }
}

/// Sorts items by their names, none of which a client may take for another.
pub(super) fn sort_distinct<T>(
    kind: &'static str,
    items: Vec<T>,
    name: impl Fn(&T) -> &str,
) -> Result<Vec<T>, OfferError> {
    let items = sort_unique(kind, items, &name)?;
    let mut names = DistinctNames::default();
    for item in &items {
        let clash = |first: NameClash<()>| {
            let (one, other) = (first.name, name(item).to_owned());
            OfferError::Folded { kind, one, other }
        };
        names.insert(name(item), &()).map_err(clash)?;
    }
    Ok(items)
}
