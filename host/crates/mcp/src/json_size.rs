//! Measures the size of a value as JSON without making the text.

use serde::Serialize;
use std::io::{self, Write};

/// Subtracts the bytes of a value as JSON from `left`. False if it has more than that; the serialization then stops.
pub(crate) fn take_json_size(value: &impl Serialize, left: &mut usize) -> bool {
    serde_json::to_writer(Countdown(left), value).is_ok()
}

struct Countdown<'a>(&'a mut usize);

impl Write for Countdown<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_byte_counts() {
        let (value, mut left) = (json!({"a": "é\n"}), 20);
        let size = value.to_string().len();
        assert!(take_json_size(&value, &mut left) && left == 20 - size);
        assert!(take_json_size(&value, &mut { size }) && !take_json_size(&value, &mut (size - 1)));
    }
}
