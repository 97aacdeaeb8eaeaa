//! Sizes as they are written into files: exact, while those shown to people are rounded.

use bytesize::ByteSize;
use serde::Serializer;

/// Writes the size in the largest unit that divides it.
pub(crate) fn exact_size<S: Serializer>(size: &ByteSize, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = size.as_u64();
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((name, unit)) => serializer.collect_str(&format_args!("{} {name}", bytes / unit)),
        None => serializer.serialize_u64(bytes),
    }
}
