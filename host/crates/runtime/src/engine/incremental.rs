//! Compiles only what changed: where a component differs from an earlier one in the image of its memory only, its code is the
//! earlier one's with another image.

use super::cache::{CompileCache, TrustedCode};
use super::memory_image::DividedComponent;
use memchr::memmem;
use platform::random::random_bytes;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io;
use std::ops::Range;

/// Bytes of the random pattern that is repeated in place of an image. The length of an image is a multiple of it.
const STAND_IN: usize = 32;

/// Compiled code that may not be in the cache yet.
pub(super) struct CompiledCode {
    pub(super) code: TrustedCode,
    /// The name of the note that lets the next build use this code, and where the image is in the code.
    image: Option<(String, Range<usize>)>,
}

/// A note of the cache: code for another image.
#[derive(Serialize, Deserialize)]
struct Reusable {
    /// The digest of the component that this code was compiled from.
    digest: String,
    image: Range<usize>,
}

/// The code of a component for the engine with this fingerprint; `compile` compiles one. The error is a sentence for the
/// operator.
pub(super) async fn build<'a, F: Future<Output = Result<TrustedCode, String>>>(
    compile: impl Fn(Cow<'a, [u8]>) -> F,
    cache: &CompileCache,
    component: &'a [u8],
    fingerprint: &str,
) -> Result<CompiledCode, String> {
    let Some(divided) = DividedComponent::divide(component) else {
        return Ok(CompiledCode { code: compile(Cow::Borrowed(component)).await?, image: None });
    };
    let note = format!("image-{}-{fingerprint}", divided.name_without_image());
    if let Some((code, place)) = reuse(cache, &note, fingerprint, divided.image()) {
        tracing::debug!("only the image of its memory is new");
        return Ok(CompiledCode { code, image: Some((note, place)) });
    }
    // A random pattern is compiled in place of the image: it occurs in the code where the image belongs, and nowhere else.
    let stand_in = random_bytes::<STAND_IN>().map_err(|error| error.to_string())?.map(|byte| byte | 1);
    let other = divided.with_image(&stand_in.repeat(divided.image().len() / STAND_IN));
    let mut code = compile(Cow::Owned(other)).await?;
    let place = find_image(code.bytes(), &stand_in, divided.image().len());
    match place.filter(|place| code.replace_image(place, divided.image())) {
        Some(place) => Ok(CompiledCode { code, image: Some((note, place)) }),
        None => {
            tracing::warn!("the compiled code has no image of the memory, compiling once more");
            Ok(CompiledCode { code: compile(Cow::Borrowed(component)).await?, image: None })
        }
    }
}

/// The code of an earlier component with this image.
fn reuse(cache: &CompileCache, note: &str, fingerprint: &str, image: &[u8]) -> Option<(TrustedCode, Range<usize>)> {
    let earlier: Reusable = serde_json::from_slice(&cache.note(note)?).ok()?;
    let mut code = cache.code(&earlier.digest, fingerprint)?;
    code.replace_image(&earlier.image, image).then_some((code, earlier.image))
}

/// Where the stand-in for an image of this length is in the code.
fn find_image(code: &[u8], stand_in: &[u8], length: usize) -> Option<Range<usize>> {
    let start = memmem::find(code, stand_in)?;
    let place = start..start.checked_add(length)?;
    let is_whole = code.get(place.clone())?.chunks(stand_in.len()).all(|chunk| chunk == stand_in);
    let is_only = memmem::find(&code[place.end..], stand_in).is_none();
    (is_whole && is_only).then_some(place)
}

impl CompiledCode {
    /// Saves the code in the cache, and what the next build needs to use it. Then removes old entries from the cache.
    pub(super) fn save(&self, cache: &CompileCache, digest: &str, fingerprint: &str) -> io::Result<()> {
        cache.put_code(digest, fingerprint, &self.code)?;
        if let Some((note, image)) = &self.image {
            let reusable = Reusable { digest: digest.to_owned(), image: image.clone() };
            cache.put_note(note, &serde_json::to_vec(&reusable)?)?;
        }
        cache.prune();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
