//! The end of a file of the log.

use super::line::{self, Head};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

pub(super) struct FileEnd {
    /// The head of the last complete line, if there is one and it is valid.
    pub(super) head: Option<Head>,
    /// The sequence number that the last complete line claims, if the line is invalid.
    pub(super) claimed_seq: Option<u64>,
    pub(super) torn: Vec<u8>,
}

/// Reads the end of a file, but no more of it than necessary.
pub(super) fn read_end(file: &mut File) -> io::Result<FileEnd> {
    let length = file.metadata()?.len();
    let mut size = 64 << 10;
    loop {
        let from = length.saturating_sub(size);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let torn = bytes.split_off(whole);
        bytes.pop();
        let begin = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| at + 1);
        let last = match begin {
            Some(begin) => bytes.split_off(begin),
            None if from == 0 => bytes,
            // The line begins before this block.
            None => {
                size *= 4;
                continue;
            }
        };
        if whole == 0 {
            return Ok(FileEnd { head: None, claimed_seq: None, torn });
        }
        let text = String::from_utf8(last).ok();
        let head = text.as_deref().and_then(line::decode).map(|valid| valid.head);
        let claimed_seq = head.is_none().then(|| text.as_deref().and_then(line::claimed_seq).unwrap_or(0));
        return Ok(FileEnd { head, claimed_seq, torn });
    }
}
