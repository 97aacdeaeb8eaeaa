//! The tags of a repository: which versions there are.

use super::error::OciError;
use super::repository::{RepositoryAccess, RepositoryClient};
use crate::install::reference::OciName;
use crate::install::settings::SourceSettings;
use platform::outbound::GuardedClient;

/// Bounds how long a registry can keep a command busy with pages.
const MAX_PAGES: usize = 100;
/// Bounds the memory that its tags take.
const MAX_TAGS: usize = 20_000;

/// All tags, in no particular order. None if the registry does not list them, or not for us: it may still serve the versions.
pub(crate) async fn tags(
    client: &GuardedClient,
    settings: &SourceSettings,
    name: &OciName,
) -> Result<Option<Vec<String>>, OciError> {
    let registry = RepositoryClient::new(client, settings, name, RepositoryAccess::Pull)?;
    let (mut tags, mut page) = (Vec::new(), registry.first_page_of_tags()?);
    for _ in 0..MAX_PAGES {
        let (more, next) = match registry.tags(page).await {
            Ok(Some(page)) => page,
            Ok(None) | Err(OciError::Unauthorized(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        tags.extend(more);
        let Some(next) = next.filter(|_| tags.len() <= MAX_TAGS) else { break };
        page = next;
    }
    if tags.len() > MAX_TAGS {
        return Err(OciError::Manifest(format!("it has more than {MAX_TAGS} tags: name one with --to")));
    }
    Ok(Some(tags))
}
