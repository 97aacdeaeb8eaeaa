//! One file's figures, from reading it once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memmem::Finder;
use memchr::{memchr, memchr_iter};

/// Larger files are data rather than source.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// Binary files show a NUL early.
const LOOKED_AT: usize = 8 * 1024;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    Text { bytes: u64, lines: u64, todos: u64 },
    Binary,
    TooLarge,
}

/// Reads files into one buffer, again and again.
pub(crate) struct Meter {
    buffer: Vec<u8>,
    words: [Finder<'static>; 2],
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { buffer: Vec::new(), words: ["TODO", "FIXME"].map(Finder::new) }
    }

    /// Measures a file.
    pub(crate) fn measure(&mut self, path: &Path) -> io::Result<Measured> {
        self.buffer.clear();
        // One byte more than allowed shows that a file is too large, whatever its metadata say.
        File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut self.buffer)?;
        let text = &self.buffer;
        if text.len() as u64 > LARGEST_FILE {
            return Ok(Measured::TooLarge);
        }
        if memchr(0, &text[..text.len().min(LOOKED_AT)]).is_some() {
            return Ok(Measured::Binary);
        }
        let unfinished = text.last().is_some_and(|&last| last != b'\n');
        let lines = memchr_iter(b'\n', text).count() + usize::from(unfinished);
        let todos: usize = self.words.iter().map(|word| count_words(word, text)).sum();
        Ok(Measured::Text { bytes: text.len() as u64, lines: lines as u64, todos: todos as u64 })
    }
}

/// Whole words only: a CUSTODOMAIN is nothing to do.
fn count_words(word: &Finder<'_>, text: &[u8]) -> usize {
    let part_of_word = |byte: Option<&u8>| byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let whole = |&at: &usize| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        !part_of_word(before) && !part_of_word(text.get(at + word.needle().len()))
    };
    word.find_iter(text).filter(whole).count()
}
