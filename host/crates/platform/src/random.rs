//! Random bytes from the operating system, good enough for keys, and unique ids.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use data_encoding::HEXLOWER;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use rustix::rand::{GetRandomFlags, getrandom};
use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// `N` random bytes, or the system's error if it provides none.
pub fn random_bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// `N` random bytes as text that can be part of a URL: a key, or an id that nobody can guess.
pub fn random_text<const N: usize>() -> io::Result<String> {
    random_bytes::<N>().map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
}

/// An id of 192 random bits that nobody can guess. It never begins with `-`, so that a command line does not read it as an
/// option.
pub fn random_id() -> io::Result<String> {
    loop {
        let id = random_text::<24>()?;
        if !id.starts_with('-') {
            return Ok(id);
        }
    }
}

thread_local! {
    /// Draws the ids of this thread, because a system call for each id would take longer. None if the system provides no
    /// randomness.
    static GENERATOR: RefCell<Option<StdRng>> = RefCell::new(random_bytes().ok().map(StdRng::from_seed));
}

/// An id that this process uses only once, never 0. It is random, but must not be relied on as a secret: if the system provides
/// no randomness, it is a counter.
pub fn unique_id() -> u128 {
    let draw = |generator: &mut StdRng| {
        let mut bytes = [0; 16];
        generator.fill_bytes(&mut bytes);
        bytes
    };
    // While a thread ends, its generator no longer exists.
    to_id(GENERATOR.try_with(|generator| generator.borrow_mut().as_mut().map(draw)).ok().flatten())
}

/// A [`unique_id`] as 32 hexadecimal digits.
pub fn hex_id() -> Arc<str> {
    let mut digits = [0; 32];
    HEXLOWER.encode_mut(&unique_id().to_be_bytes(), &mut digits);
    String::from_utf8_lossy(&digits).into()
}

fn to_id(random: Option<[u8; 16]>) -> u128 {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    random.map_or_else(|| COUNT.fetch_add(1, Ordering::Relaxed).into(), u128::from_le_bytes).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_differ_each_time() {
        assert_ne!(random_bytes::<32>().unwrap(), random_bytes::<32>().unwrap());
        assert_eq!((random_text::<16>().unwrap().len(), random_text::<32>().unwrap().len()), (22, 43));
    }

    #[test]
    fn an_id_is_no_option() {
        // Without the check, one in 64 ids would begin with `-`.
        assert!((0..2_000).all(|_| !random_id().unwrap().starts_with('-')));
    }

    #[test]
    fn ids_differ_without_randomness_too() {
        let failed = || to_id(None);
        assert_ne!(failed(), failed());
        assert_ne!(unique_id(), unique_id());
        assert_ne!(unique_id(), std::thread::spawn(unique_id).join().unwrap(), "of another thread");
        assert_eq!(to_id(Some([0; 16])), 1);
        assert!(hex_id().len() == 32 && hex_id() != hex_id());
    }
}
