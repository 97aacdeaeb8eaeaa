//! Reads a list of a server, page by page. What cannot be used is left out, and named.

use crate::api::error::UpstreamError;
use crate::listed::list_kind::ListKind;
use crate::listed::problems::Problems;
use crate::server_input::peer_account::PeerAccount;
use crate::server_input::text::single_line;
use rmcp::service::ServiceError;
use std::collections::HashSet;
use std::time::Duration;

/// Entries of one list that are used, and its pages. Bounds the memory and the time that a server can cost.
const MAX_USED: usize = 512;
const MAX_PAGES: usize = 64;
/// Entries that are looked at, including those that are left out. Bounds the time that a server can cost with entries that
/// nobody gets.
const MAX_CHECKED: usize = 2 * MAX_USED;
/// Size of all entries together, in bytes, including those that are left out.
const MAX_BYTES: usize = 8 << 20;
/// Size of all pages together as the server sends them, in bytes. Bounds how much a server can make this host read that is no
/// part of any entry.
const MAX_PAGE_BYTES: u64 = 16 << 20;

/// How a list is read.
pub(crate) trait ListReader: Sync {
    /// An entry as the server gives it, and what this host makes of it.
    type Entry: Send;
    type Item: Send;

    fn kind(&self) -> ListKind;
    /// Time limit for the whole list.
    fn time_limit(&self) -> Duration;
    /// One page, and the cursor of the next one.
    fn page(&self, cursor: Option<String>) -> impl Future<Output = Result<ItemPage<Self::Entry>, ServiceError>> + Send;
    /// An entry's name, for people; empty if it has none.
    fn name(entry: &Self::Entry) -> String;
    /// About the size of an entry's text, in bytes.
    fn size(entry: &Self::Entry) -> usize;
    /// The error says why the entry cannot be used.
    fn read(&self, entry: Self::Entry) -> impl Future<Output = Result<ReadEntry<Self::Item>, String>> + Send;
}

pub(crate) type ItemPage<E> = (Vec<E>, Option<String>);

/// An entry that is used.
pub(crate) struct ReadEntry<I> {
    pub(crate) item: I,
    /// The key that distinguishes the entries of a list.
    pub(crate) key: String,
    pub(crate) warnings: Vec<String>,
}

/// The entries of a list that can be used, and what is wrong with the others.
pub(crate) struct Listed<I> {
    pub(crate) items: Vec<I>,
    pub(crate) problems: Problems,
}

impl<I> Listed<I> {
    pub(crate) fn none(kind: ListKind) -> Self {
        Self { items: Vec::new(), problems: Problems::new(kind) }
    }
}

/// Reads the whole list, as far as its limits allow.
pub(crate) async fn read_list<R: ListReader>(
    reader: &R,
    server: &str,
    account: &PeerAccount,
) -> Result<Listed<R::Item>, UpstreamError> {
    match tokio::time::timeout(reader.time_limit(), read_pages(reader, server, account)).await {
        Ok(listed) => listed,
        Err(_) => Err(UpstreamError::Timeout { server: server.to_owned(), limit: reader.time_limit() }),
    }
}

async fn read_pages<R: ListReader>(
    reader: &R,
    server: &str,
    account: &PeerAccount,
) -> Result<Listed<R::Item>, UpstreamError> {
    let noun = reader.kind().noun();
    let failed = |what: String| UpstreamError::Malformed { server: server.to_owned(), what };
    let (mut listed, mut keys, mut cursor) = (Listed::none(reader.kind()), HashSet::new(), None);
    let (mut checked, mut bytes) = (0, 0);
    account.begin_list();
    for _ in 0..MAX_PAGES {
        let page = reader.page(cursor.take()).await;
        let (entries, next) = page.map_err(|error| failed(single_line(&error.to_string())))?;
        for entry in entries {
            let name = R::name(&entry);
            checked += 1;
            bytes += R::size(&entry);
            let used = listed.items.len();
            if used >= MAX_USED || checked > MAX_CHECKED || bytes > MAX_BYTES {
                listed.problems.cut(format!("the server has too many {noun}s; only {used} are used"));
                return Ok(listed);
            }
            match reader.read(entry).await {
                Ok(ReadEntry { key, .. }) if keys.contains(&key) => {
                    listed.problems.warn(&format!("the {noun} `{key}` is listed twice; the first one counts"));
                }
                Ok(ReadEntry { item, key, warnings }) => {
                    warnings.iter().for_each(|warning| listed.problems.warn(warning));
                    keys.insert(key);
                    listed.items.push(item);
                }
                Err(reason) => listed.problems.lose(&name, &reason),
            }
        }
        match next {
            Some(next) if !next.is_empty() => cursor = Some(next),
            _ => return Ok(listed),
        }
        if account.listed_bytes() > MAX_PAGE_BYTES {
            let used = listed.items.len();
            let why =
                format!("the list of {noun}s is larger than {MAX_PAGE_BYTES} bytes; only {used} {noun}s are used");
            listed.problems.cut(why);
            return Ok(listed);
        }
    }
    let used = listed.items.len();
    listed.problems.cut(format!("the list of {noun}s has more than {MAX_PAGES} pages; only {used} {noun}s are used"));
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Gives pages of entries without end. One whose number is divisible by `used` can be used.
    struct Endless {
        used: usize,
        size: usize,
        read: AtomicUsize,
    }

    impl Endless {
        async fn listed(used: usize, size: usize) -> (usize, Listed<usize>) {
            let endless = Self { used, size, read: AtomicUsize::new(0) };
            let listed = read_list(&endless, "far", &PeerAccount::new("far")).await.unwrap();
            (endless.read.into_inner(), listed)
        }
    }

    impl ListReader for Endless {
        type Entry = (usize, usize);
        type Item = usize;

        fn kind(&self) -> ListKind {
            ListKind::Tools
        }

        fn time_limit(&self) -> Duration {
            Duration::from_secs(600)
        }

        async fn page(&self, cursor: Option<String>) -> Result<ItemPage<Self::Entry>, ServiceError> {
            let begin = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let end = begin + 2_000;
            Ok(((begin..end).map(|number| (number, self.size)).collect(), Some(end.to_string())))
        }

        fn name((number, _): &Self::Entry) -> String {
            number.to_string()
        }

        fn size((_, size): &Self::Entry) -> usize {
            *size
        }

        async fn read(&self, (number, _): Self::Entry) -> Result<ReadEntry<usize>, String> {
            self.read.fetch_add(1, Ordering::Relaxed);
            match number.is_multiple_of(self.used) {
                true => Ok(ReadEntry { item: number, key: number.to_string(), warnings: Vec::new() }),
                false => Err("it cannot be used".into()),
            }
        }
    }

    /// What is left out costs as much as what is used.
    #[tokio::test]
    async fn entries_count_whether_they_are_used_or_not() {
        let (read, listed) = Endless::listed(1, 10).await;
        assert_eq!((read, listed.items.len()), (MAX_USED, MAX_USED));
        let (read, listed) = Endless::listed(100, 10).await;
        assert_eq!((read, listed.items.len()), (MAX_CHECKED, MAX_CHECKED.div_ceil(100)));
        let (read, listed) = Endless::listed(100, 1 << 20).await;
        assert_eq!((read, listed.items.len()), (8, 1));
    }
}
