//! Session ids that only their principal can use, without a table of who owns which.

use crate::policy::Principal;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Hex digits of the MAC in an id: 128 bits.
const TAG: usize = 32;
/// Separates an id from its MAC; no id that we make contains it.
const DOT: char = '.';

/// Ties ids to principals with a key of this host.
pub struct SessionSeal([u8; 32]);

impl SessionSeal {
    /// With a random key: ids are good until the process ends.
    pub fn random() -> std::io::Result<Self> {
        let mut key = [0; 32];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())?;
        Ok(Self(key))
    }

    /// The id as `principal` is to see it.
    pub fn seal(&self, principal: &Principal, id: &str) -> String {
        format!("{id}{DOT}{}", self.tag(principal, id))
    }

    /// The id inside, if it is one that this principal was given.
    pub fn open<'a>(&self, principal: &Principal, sealed: &'a str) -> Option<&'a str> {
        let (id, tag) = sealed.rsplit_once(DOT)?;
        // The tag that would be right is no secret of anybody but this principal, so how long this takes tells nothing
        // that helps: one more guess at 128 bits costs one more request.
        let same = self.tag(principal, id).bytes().zip(tag.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0;
        (tag.len() == TAG && same).then_some(id)
    }

    fn tag(&self, principal: &Principal, id: &str) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(b"portcullis session 1\0");
        mac.update(&(principal.as_str().len() as u64).to_le_bytes());
        mac.update(principal.as_str().as_bytes());
        mac.update(id.as_bytes());
        mac.finalize().into_bytes().iter().take(TAG / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_for_one_principal_only() {
        let (seal, other) = (SessionSeal::random().unwrap(), SessionSeal::random().unwrap());
        let (alice, bob) = (Principal::known("key", "alice"), Principal::known("key", "bob"));
        let sealed = seal.seal(&alice, "0123-abc");
        assert_eq!(seal.open(&alice, &sealed), Some("0123-abc"));
        assert_eq!(seal.open(&bob, &sealed), None);
        assert_eq!(other.open(&alice, &sealed), None);
        for wrong in
            ["", ".", "0123-abc", "0123-abc.", &sealed[1..], &sealed[..sealed.len() - 1], &format!("{sealed}0")]
        {
            assert_eq!(seal.open(&alice, wrong), None, "{wrong}");
        }
        // Bytes may not wander between principal and id.
        assert_ne!(seal.tag(&Principal::known("key", "a"), "bc"), seal.tag(&Principal::known("key", "ab"), "c"));
    }
}
