//! minisign signatures: one Ed25519 key, one signature file.

use crate::install::source::Signer;
use crate::package;
use minisign_verify::{PublicKey, Signature};
use policy::Digest;

/// The prefix of trusted comments that name the plugin.
const COMMENT_PREFIX: &str = "portcullis ";

/// The comment for `minisign -t`. It names the signed plugin for people; when present, it must be correct.
pub fn trusted_comment(name: &str, version: &str, digest: &Digest) -> String {
    format!("{COMMENT_PREFIX}name={name} version={version} digest={digest}")
}

/// Returns the key that signed the bytes. The error says why none of the keys did.
pub(super) fn verify(keys: &[String], bytes: &[u8], text: &str) -> Result<Signer, String> {
    let signature = Signature::decode(text).map_err(|_| "it is not a minisign signature".to_owned())?;
    // Only prehashed signatures: the legacy kind needs twice the memory, and no tool creates it any more.
    let signed =
        |key: &&String| PublicKey::from_base64(key).is_ok_and(|key| key.verify(bytes, &signature, false).is_ok());
    let Some(key) = keys.iter().find(signed) else {
        return Err(match keys {
            [] => "it was made with a minisign key, and [sources] names none".into(),
            _ => "it was made with no key of [sources], or over other bytes".into(),
        });
    };
    check_comment(signature.trusted_comment(), bytes)?;
    Ok(Signer::Minisign(key.clone()))
}

/// The signed bytes already contain name and version. A comment with our prefix repeats them for people; if it names
/// something else, the signature was meant for another file.
fn check_comment(comment: &str, bytes: &[u8]) -> Result<(), String> {
    if !comment.starts_with(COMMENT_PREFIX) {
        return Ok(());
    }
    let manifest = package::inspect(bytes).ok().and_then(|inspection| inspection.manifest).unwrap_or_default();
    if comment.trim_end() == trusted_comment(&manifest.name, &manifest.version, &Digest::sha256(bytes)) {
        Ok(())
    } else {
        Err("its trusted comment is about another plugin or version".into())
    }
}
