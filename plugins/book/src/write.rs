//! The writing.

use portcullis_guest::output::{self, OutputError};
use portcullis_guest::{Content, Role, ToolError, log, progress, steering};

use crate::chapter;
use crate::pace::Pace;

/// A wish is quoted in the book; more than this of it is not.
const LONGEST_WISH: usize = 200;

/// Writes it all and says each part as soon as it is there.
pub(crate) fn book(topic: &str, chapters: u32, pace: &Pace) -> Result<String, ToolError> {
    let topic = one_line(topic);
    let mut book = String::new();
    let mut add = |part: String| {
        book.push_str(&part);
        say(Content::text(part))
    };
    add(chapter::outline(&topic, chapters))?;
    add(chapter::contents(chapters))?;
    let mut style = None;
    for number in 1..=chapters {
        pace.wait(number)?;
        // Everything said since the last chapter; what was said last counts.
        while let Some(wish) = steering::next() {
            let wish = one_line(&wish);
            say(note(format!("From chapter {number} on: {wish}")))?;
            style = Some(wish);
        }
        say(note(format!("Writing chapter {number} of {chapters}.")))?;
        add(chapter::text(&topic, number, style.as_deref()))?;
        progress::report_with(number.into(), Some(chapters.into()), chapter::title(number));
    }
    Ok(book)
}

/// For the user to see while waiting; not part of the book.
fn note(text: String) -> Content {
    Content::text(text).for_role(Role::User)
}

/// A used-up budget for chunks is no reason to stop writing: the result has it all.
fn say(content: Content) -> Result<(), ToolError> {
    match output::emit(content) {
        Ok(_) => Ok(()),
        Err(OutputError::Closed) => Err(ToolError::Cancelled),
        Err(error) => {
            log::info!("no more chunks: {error}");
            Ok(())
        }
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST_WISH).collect()
}
