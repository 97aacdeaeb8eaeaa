//! The library: text files of the granted folder, cut into passages.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError, log};

/// Bytes read in all. Bounds memory; a larger library wants an index.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Characters of a passage. Bounds what a prompt grows to.
const LONGEST: usize = 600;

/// Shorter words are mostly in every text.
const SHORTEST_WORD: usize = 4;

/// A paragraph.
pub(crate) struct Passage {
    /// The name of its file.
    pub(crate) source: String,
    pub(crate) text: String,
}

/// All passages, in the order of the files' names.
pub(crate) struct Library {
    passages: Vec<Passage>,
}

impl Library {
    /// Reads every `.txt` and `.md` file of the folder.
    pub(crate) fn read() -> Result<Self, ToolError> {
        let folder = folders().into_iter().next().ok_or_else(|| Denial::new("filesystem", "/library"))?;
        let mut passages = Vec::new();
        let mut room = MOST_BYTES;
        for path in texts(&folder)? {
            let source = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match load(&path, room) {
                Ok(bytes) => {
                    room -= bytes.len();
                    let texts = paragraphs(&String::from_utf8_lossy(&bytes));
                    passages.extend(texts.into_iter().map(|text| Passage { source: source.clone(), text }));
                }
                Err(error) => log::warn!("left out {source}: {error}"),
            }
        }
        Ok(Self { passages })
    }

    /// The passages with the most words of the topic, best first.
    pub(crate) fn about(&self, topic: &str, most: usize) -> Vec<&Passage> {
        let words = words(topic);
        let score = |passage: &Passage| {
            let text = passage.text.to_lowercase();
            words.iter().filter(|word| text.contains(word.as_str())).count()
        };
        let mut found: Vec<_> = self.passages.iter().map(|passage| (score(passage), passage)).collect();
        found.retain(|(score, _)| *score > 0);
        found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        found.into_iter().map(|(_, passage)| passage).take(most).collect()
    }
}

fn texts(folder: &Path) -> Result<Vec<PathBuf>, ToolError> {
    let entries = fs::read_dir(folder).map_err(|error| explain(folder, &error))?;
    let mut texts: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    texts.retain(|path| path.extension().is_some_and(|extension| extension == "txt" || extension == "md"));
    texts.sort();
    Ok(texts)
}

fn load(path: &Path, room: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than there is room for shows that a file is too large, whatever its metadata say.
    File::open(path)?.take(room as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > room { Err(io::Error::other("the library is too large")) } else { Ok(bytes) }
}

/// Paragraphs without headings, each on one line.
fn paragraphs(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let paragraphs = lines.split(|line| line.is_empty()).map(|lines| lines.join(" "));
    // A heading ends without a full stop, or begins with a hash.
    let prose = |text: &String| !text.starts_with('#') && text.ends_with(['.', '!', '?', ')', '"']);
    paragraphs.filter(prose).map(|text| text.chars().take(LONGEST).collect()).collect()
}

/// The words to look for, in lower case.
fn words(topic: &str) -> Vec<String> {
    let all = topic.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let (long, short): (Vec<_>, Vec<_>) = all.partition(|word| word.chars().count() >= SHORTEST_WORD);
    if long.is_empty() { short } else { long }
}
