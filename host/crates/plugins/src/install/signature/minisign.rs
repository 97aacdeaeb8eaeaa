//! minisign: one Ed25519 key, one signature file.

use crate::install::found::Signer;
use crate::package;
use minisign_verify::{PublicKey, Signature};
use policy::Digest;

/// How a trusted comment begins that says what is signed.
const OURS: &str = "portcullis ";

/// The comment for `minisign -t`: it tells a person what was signed, and must then be true.
pub fn trusted_comment(name: &str, version: &str, digest: &Digest) -> String {
    format!("{OURS}name={name} version={version} digest={digest}")
}

/// Who of these keys' holders signed the bytes; the error says why none did.
pub(super) fn verify(keys: &[String], bytes: &[u8], text: &str) -> Result<Signer, String> {
    let signature = Signature::decode(text).map_err(|_| "it is no signature of minisign".to_owned())?;
    // Only hashed signatures: the older kind costs the memory twice, and nothing makes it any more.
    let signed =
        |key: &&String| PublicKey::from_base64(key).is_ok_and(|key| key.verify(bytes, &signature, false).is_ok());
    let Some(key) = keys.iter().find(signed) else {
        return Err(match keys {
            [] => "it is made by a minisign key, and [sources] names none".into(),
            _ => "it was made by no key of [sources], or over other bytes".into(),
        });
    };
    check_comment(signature.trusted_comment(), bytes)?;
    Ok(Signer::Key(key.clone()))
}

/// The signed bytes hold name and version already. A comment of our form says them a second time, for people; one that
/// says something else was meant for another file.
fn check_comment(comment: &str, bytes: &[u8]) -> Result<(), String> {
    if !comment.starts_with(OURS) {
        return Ok(());
    }
    let manifest = package::inspect(bytes).ok().and_then(|inspection| inspection.manifest).unwrap_or_default();
    if comment.trim_end() == trusted_comment(&manifest.name, &manifest.version, &Digest::of(bytes)) {
        Ok(())
    } else {
        Err("its trusted comment is about another plugin or version".into())
    }
}
