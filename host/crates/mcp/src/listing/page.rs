//! Pages of a list.
//!
//! A cursor is the key of the last entry of a page, so the server keeps nothing for it. If the list changes between two
//! pages, no entry is repeated and no entry that stayed is skipped.

use crate::json_size::take_json_size;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;
use serde::Serialize;

/// Bytes of one page's entries as JSON. Bounds one response, however much is installed. The limit is not a number of entries,
/// because some clients read only one page.
const PAGE_BYTES: usize = 1 << 20;
/// How long a client may cache a list, in milliseconds. A client that subscribes to changes is notified earlier.
pub(crate) const TTL_MS: u64 = 60_000;

#[derive(Debug, PartialEq)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// The requested page of a list sorted by `key`. Cursors contain the name of the `list`, so that they do not work for other
/// lists.
pub(crate) fn paginate<T: Clone + Serialize>(
    list: &str,
    entries: &[T],
    key: impl Fn(&T) -> &str,
    request: Option<PaginatedRequestParams>,
) -> Result<Page<T>, ErrorData> {
    let start = match request.and_then(|request| request.cursor) {
        None => 0,
        Some(cursor) => {
            let after = decode_cursor(list, &cursor).ok_or_else(|| {
                ErrorData::invalid_params("the cursor is not one of this list; start again without a cursor", None)
            })?;
            entries.partition_point(|entry| key(entry) <= after.as_str())
        }
    };
    let rest = entries.get(start..).unwrap_or_default();
    let mut left = PAGE_BYTES;
    let fitting = rest.iter().take_while(|entry| take_json_size(entry, &mut left)).count();
    // An entry that is larger than a page gets its own page.
    let items = rest.get(..fitting.max(1)).unwrap_or(rest);
    let more = rest.len() > items.len();
    let next = items.last().filter(|_| more).map(|last| BASE64.encode(format!("{list}\n{}", key(last))));
    Ok(Page { items: items.to_vec(), next })
}

fn decode_cursor(list: &str, cursor: &str) -> Option<String> {
    let text = String::from_utf8(BASE64.decode(cursor).ok()?).ok()?;
    let (of, after) = text.split_once('\n')?;
    (of == list).then(|| after.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(entries: &[String], cursor: Option<String>) -> Result<Page<String>, ErrorData> {
        let mut asked = PaginatedRequestParams::default();
        asked.cursor = cursor;
        paginate("things", entries, |entry| &entry[..4], Some(asked))
    }

    /// Entries of which a hundred fill a page.
    fn entries(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("{n:04}{}", "x".repeat(PAGE_BYTES / 100 - 6))).collect()
    }

    #[test]
    fn all_pages_together_are_the_list() {
        let all = entries(0..250);
        let (mut seen, mut cursor) = (vec![], None);
        for size in [100, 100, 50] {
            let page = page(&all, cursor).unwrap();
            assert_eq!(page.items.len(), size);
            seen.extend(page.items);
            cursor = page.next;
        }
        assert_eq!((seen, cursor), (all, None));
        assert_eq!(page(&entries(0..100), None).unwrap().next, None, "a full page may be the last");
        assert_eq!(page(&[], None).unwrap(), Page { items: vec![], next: None });
    }

    #[test]
    fn a_page_ends_at_its_size_and_not_at_a_number_of_entries() {
        let small: Vec<_> = (0..9_999).map(|n| format!("{n:04}")).collect();
        let whole = page(&small, None).unwrap();
        assert_eq!((whole.items.len(), whole.next), (9_999, None));
        let huge = |n: &str| format!("{n}{}", "x".repeat(2 * PAGE_BYTES));
        let uneven = ["0000".to_owned(), huge("0001"), huge("0002"), "0003".to_owned()];
        let (mut seen, mut cursor) = (vec![], None);
        for _ in 0..uneven.len() {
            let page = page(&uneven, cursor).unwrap();
            assert_eq!(page.items.len(), 1);
            seen.extend(page.items);
            cursor = page.next;
        }
        assert_eq!((seen.as_slice(), cursor), (uneven.as_slice(), None));
    }

    #[test]
    fn a_changing_list_repeats_and_skips_no_entry() {
        let mut all = entries(0..250);
        let first = page(&all, None).unwrap();
        all.retain(|entry| !entry.starts_with("0099") && !entry.starts_with("0150"));
        all.insert(0, "-001".into());
        let second = page(&all, first.next).unwrap();
        let has = |key: &str| second.items.iter().any(|entry| entry.starts_with(key));
        assert!(second.items[0].starts_with("0100") && !has("0150") && has("0149"));
    }

    #[test]
    fn a_foreign_cursor_is_refused() {
        let all = entries(0..250);
        let other = paginate("others", &all, |entry| &entry[..4], None).unwrap().next;
        for bad in [other, Some("x".into()), Some(String::new()), Some("????".into()), Some(BASE64.encode("things"))] {
            assert_eq!(page(&all, bad.clone()).unwrap_err().code.0, -32602, "{bad:?}");
        }
    }
}
