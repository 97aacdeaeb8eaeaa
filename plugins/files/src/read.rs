//! The tool `read`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memchr;
use portcullis_guest::filesystem::{explain, resolve};
use portcullis_guest::{Content, EmbeddedResource, IntoContent, ResourceBody, ToolError};

/// What one call returns at most; a model has little use for more at once.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_LINES: u64 = 2_000;

/// Images are returned whole or not at all, so they may be larger.
const MOST_IMAGE_BYTES: u64 = 4 * 1024 * 1024;

/// Which part of a file to read.
pub(crate) enum Range {
    Lines { start: u64, count: u64 },
    Bytes { start: u64, count: u64 },
}

impl Range {
    pub(crate) fn new(
        start_line: Option<u64>,
        lines: Option<u64>,
        offset: Option<u64>,
        bytes: Option<u64>,
    ) -> Result<Self, ToolError> {
        if offset.is_none() && bytes.is_none() {
            let start = start_line.unwrap_or(1);
            if start == 0 || lines == Some(0) {
                return Err(ToolError::invalid("lines are counted from 1, and at least one must be read"));
            }
            return Ok(Self::Lines { start, count: lines.unwrap_or(MOST_LINES).min(MOST_LINES) });
        }
        if start_line.is_some() || lines.is_some() {
            return Err(ToolError::invalid(
                "give a range of lines (start_line, lines) or of bytes (offset, bytes), not both",
            ));
        }
        Ok(Self::Bytes { start: offset.unwrap_or(0), count: bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES) })
    }
}

pub(crate) fn read(path: &str, range: &Range) -> Result<Vec<Content>, ToolError> {
    let path = resolve(path)?;
    let explained = |error| explain(&path, &error);
    let file = File::open(&path).map_err(explained)?;
    let metadata = file.metadata().map_err(explained)?;
    if metadata.is_dir() {
        return Err(ToolError::failed(format_args!("`{}` is a folder; use list", path.display())));
    }
    let size = metadata.len();
    match (range, image_type(&path)) {
        (Range::Lines { .. }, Some(mime_type)) if size <= MOST_IMAGE_BYTES => image(&path, file, mime_type),
        (&Range::Lines { start, count }, _) => lines(&path, file, start, count, size),
        (&Range::Bytes { start, count }, _) => bytes(&path, file, start, count, size),
    }
}

fn lines(path: &Path, file: File, start: u64, count: u64, size: u64) -> Result<Vec<Content>, ToolError> {
    let explained = |error| explain(path, &error);
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    for line in 1..start {
        if reader.skip_until(b'\n').map_err(explained)? == 0 {
            return Err(ToolError::invalid(format_args!("`{}` has only {} lines", path.display(), line - 1)));
        }
    }
    let mut text = Vec::new();
    let mut read = 0;
    while read < count {
        // One byte more than allowed shows that a line does not fit.
        let left = MOST_BYTES - text.len() as u64;
        let before = text.len();
        let length = reader.by_ref().take(left + 1).read_until(b'\n', &mut text).map_err(explained)? as u64;
        if length == 0 {
            break;
        }
        if length > left {
            if read > 0 {
                text.truncate(before);
                break;
            }
            let advice = format!("line {start} is longer than {MOST_BYTES} bytes; read it by offset and bytes");
            return Err(ToolError::failed(advice));
        }
        read += 1;
    }
    if read == 0 && start > 1 {
        return Err(ToolError::invalid(format_args!("`{}` has only {} lines", path.display(), start - 1)));
    }
    let more = !reader.fill_buf().map_err(explained)?.is_empty();
    let Ok(text) = String::from_utf8(text).map_err(drop).and_then(|text| without_nul(text).map_err(drop)) else {
        return bytes(path, reader.into_inner(), 0, MOST_BYTES, size);
    };
    let mut content = vec![Content::text(text)];
    if more {
        let next = start + read;
        content.push(Content::text(format!(
            "[Lines {start} to {}; more follows, read on with start_line = {next}.]",
            next - 1
        )));
    }
    Ok(content)
}

fn bytes(path: &Path, mut file: File, start: u64, count: u64, size: u64) -> Result<Vec<Content>, ToolError> {
    let explained = |error| explain(path, &error);
    if start > size {
        return Err(ToolError::invalid(format_args!("`{}` has only {size} bytes", path.display())));
    }
    file.seek(SeekFrom::Start(start)).map_err(explained)?;
    let mut data = Vec::new();
    file.take(count).read_to_end(&mut data).map_err(explained)?;
    let complete = start + data.len() as u64 >= size;
    let length = if complete { data.len() } else { whole_characters(&data) };
    data.truncate(length);
    let end = start + length as u64;
    let mut content = vec![match String::from_utf8(data).map_err(|error| error.into_bytes()).map(without_nul) {
        Ok(Ok(text)) => Content::text(text),
        Ok(Err(text)) => blob(path, text.into_bytes()),
        Err(data) => blob(path, data),
    }];
    if !complete {
        content.push(Content::text(format!("[Bytes {start} to {end} of {size}; read on with offset = {end}.]")));
    }
    Ok(content)
}

/// The length without a character that the end of the range cuts, if that is all that is wrong with the text.
fn whole_characters(data: &[u8]) -> usize {
    match std::str::from_utf8(data) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
        _ => data.len(),
    }
}

/// NUL is valid UTF-8, but no text has it.
fn without_nul(text: String) -> Result<String, String> {
    if memchr(0, text.as_bytes()).is_some() { Err(text) } else { Ok(text) }
}

fn image(path: &Path, mut file: File, mime_type: &str) -> Result<Vec<Content>, ToolError> {
    let mut data = Vec::new();
    file.read_to_end(&mut data).map_err(|error| explain(path, &error))?;
    Ok(vec![Content::image(mime_type, data)])
}

fn blob(path: &Path, data: Vec<u8>) -> Content {
    let uri = format!("file://{}", path.display());
    let mime_type = Some("application/octet-stream".to_owned());
    EmbeddedResource { uri, mime_type, body: ResourceBody::Blob(data) }.into_content()
}

/// The media type of images that MCP clients usually show.
fn image_type(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        _ => None,
    }
}
