//! One record of a journal.

use super::remark::Remark;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::fmt;

/// Identifies a step: its number, preceded by those of the steps that made its call and the calls above.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepPath(pub(super) Vec<u32>);

/// One record of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub path: StepPath,
    /// Such as `state.get`.
    pub import: Cow<'static, str>,
    pub arguments: ArgumentsDigest,
    /// Milliseconds since 1970.
    pub at: u64,
    pub phase: Phase,
    /// Not written if there is nothing to remark. Earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Remark::is_empty")]
    pub remark: Remark,
}

/// Whether an effect that was begun may be made once more when nothing is known of its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Doing it twice has the same result as doing it once.
    Safe,
    /// It may have happened, and must not happen twice: the call ends, and a person has to find out.
    Unsafe,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Phase {
    /// The effect is about to happen.
    Began,
    /// The step has ended with this outcome.
    Ended(#[serde(with = "bytes")] Vec<u8>),
    /// The first record of a stored journal. Without it, nobody knows whether steps are missing.
    Opened,
    /// The call cannot be replayed; the text completes "because".
    GaveUp(String),
    /// An effect is about to happen that must not happen twice. Earlier versions wrote [`Self::Began`] for it, too.
    BeganOnce,
}

/// Tells apart the arguments of two steps.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentsDigest([u8; 16]);

impl StepPath {
    /// The numbers of the steps that made its call, and its own, from zero on.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    pub(super) fn below(&self, number: u32) -> Self {
        let mut path = self.0.clone();
        path.push(number);
        Self(path)
    }
}

impl fmt::Display for StepPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.0.iter().enumerate() {
            write!(f, "{}{}", if at > 0 { "." } else { "" }, number + 1)?;
        }
        Ok(())
    }
}

impl ArgumentsDigest {
    pub(super) fn new(arguments: &impl Serialize) -> Self {
        let bytes = encode(arguments);
        let mut digest = [0; 16];
        digest.copy_from_slice(&Sha256::digest(&bytes)[..16]);
        Self(digest)
    }
}

impl fmt::Debug for ArgumentsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The step at which a guest asks for what was saved. Its outcome is none, or the last checkpoint.
pub(super) const RESTORED: &str = "checkpoint.restored";

impl Entry {
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        decode(bytes)
    }

    /// The only record of a call that cannot be replayed.
    pub(super) fn gave_up(why: &str) -> Vec<u8> {
        Self::of_journal(Phase::GaveUp(why.into()))
    }

    pub(super) fn opened() -> Vec<u8> {
        Self::of_journal(Phase::Opened)
    }

    /// Whether a record is that of a checkpoint, or of a guest that has asked for one.
    pub(super) fn is_checkpoint(record: &[u8]) -> bool {
        Self::decode(record).is_some_and(|entry| entry.import == RESTORED)
    }

    /// Whether it is [`Self::opened`], which is not counted: when it is written depends on when the call became a task.
    pub(super) fn is_opened(record: &[u8]) -> bool {
        decode::<Self>(record).is_some_and(|entry| matches!(entry.phase, Phase::Opened))
    }

    /// A record that belongs to no step.
    fn of_journal(phase: Phase) -> Vec<u8> {
        let (path, arguments, remark) = (StepPath(Vec::new()), ArgumentsDigest([0; 16]), Remark::default());
        Self { path, import: "".into(), arguments, at: 0, phase, remark }.encode()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        encode(self)
    }
}

/// Encodes a value in the form in which records are kept. This cannot fail for what is recorded, since that has no sequences of
/// unknown length.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec(value).unwrap_or_default()
}

/// None for anything but what [`encode`] gave.
pub fn decode<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    rmp_serde::from_slice(bytes).ok()
}

/// Several byte strings, each written as bytes and not as a list of numbers.
pub mod byte_strings {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize)]
    struct Borrowed<'a>(#[serde(serialize_with = "super::bytes::serialize")] &'a [u8]);

    #[derive(Deserialize)]
    struct Owned(#[serde(deserialize_with = "super::bytes::deserialize")] Vec<u8>);

    pub fn serialize<S: Serializer>(strings: &[Vec<u8>], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(strings.iter().map(|bytes| Borrowed(bytes)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<u8>>, D::Error> {
        Ok(Vec::<Owned>::deserialize(deserializer)?.into_iter().map(|Owned(bytes)| bytes).collect())
    }
}

/// Bytes as bytes, where serde would write a list of numbers.
pub(crate) mod bytes {
    use serde::de::{Error, SeqAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use std::fmt;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }

    struct Bytes;

    impl<'de> Visitor<'de> for Bytes {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_vec())
        }

        fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
            Ok(bytes)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = items.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}
