//! Pages of a list.
//!
//! A cursor says after which entry the next page begins, and nothing else: the server keeps nothing for it, and when the
//! list changes meanwhile, no entry comes twice and none that stayed is left out.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// Entries of one page. Bounds one answer, however much is installed.
const PAGE: usize = 100;
/// How long a client may keep a list, in milliseconds. One that listens for changes is told at once.
pub(super) const TTL_MS: u64 = 60_000;

/// One page.
#[derive(Debug, PartialEq)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// The cursor of the page after it.
    pub(super) next: Option<String>,
}

/// The page that is asked for, of a list that is sorted by `key`. `list` names it in cursors: one list's are no good
/// for another.
pub(super) fn of<T: Clone>(
    list: &str,
    entries: &[T],
    key: impl Fn(&T) -> &str,
    asked: Option<PaginatedRequestParams>,
) -> Result<Page<T>, ErrorData> {
    let start = match asked.and_then(|asked| asked.cursor) {
        None => 0,
        Some(cursor) => {
            let after = read(list, &cursor).ok_or_else(|| {
                ErrorData::invalid_params("the cursor is none that this list gave; begin without one", None)
            })?;
            entries.partition_point(|entry| key(entry) <= after.as_str())
        }
    };
    let rest = entries.get(start..).unwrap_or_default();
    let items = rest.get(..PAGE).unwrap_or(rest);
    let more = rest.len() > items.len();
    let next = items.last().filter(|_| more).map(|last| BASE64.encode(format!("{list}\n{}", key(last))));
    Ok(Page { items: items.to_vec(), next })
}

fn read(list: &str, cursor: &str) -> Option<String> {
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
        of("things", entries, |entry| entry, Some(asked))
    }

    fn entries(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|n| format!("{n:04}")).collect()
    }

    #[test]
    fn pages_make_up_the_list() {
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
    fn a_list_that_changes_repeats_nothing_and_loses_nothing() {
        let mut all = entries(0..250);
        let first = page(&all, None).unwrap();
        all.retain(|entry| entry != "0099" && entry != "0150");
        all.insert(0, "0000a".into());
        let second = page(&all, first.next).unwrap();
        assert_eq!(second.items.first().map(String::as_str), Some("0100"));
        assert!(!second.items.contains(&"0150".to_owned()) && second.items.contains(&"0149".to_owned()));
    }

    #[test]
    fn a_cursor_of_another_make_is_refused() {
        let all = entries(0..250);
        let other = of("others", &all, |entry| entry, None).unwrap().next;
        for bad in [other, Some("x".into()), Some(String::new()), Some("????".into()), Some(BASE64.encode("things"))] {
            assert_eq!(page(&all, bad.clone()).unwrap_err().code.0, -32602, "{bad:?}");
        }
    }
}
