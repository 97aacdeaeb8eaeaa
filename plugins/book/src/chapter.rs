//! The book's parts. What is written follows from topic, number and style alone.

/// What chapters are about, over and over.
const ABOUT: [&str; 5] = ["beginnings", "a doubt", "the work", "a setback", "what remained"];

/// A chapter's title.
pub(crate) fn title(number: u32) -> String {
    let about = ABOUT[(number as usize - 1) % ABOUT.len()];
    format!("Chapter {number}: Of {about}")
}

/// The first part.
pub(crate) fn outline(topic: &str, chapters: u32) -> String {
    let plural = if chapters == 1 { "" } else { "s" };
    format!("# {topic}\n\nA book in {chapters} chapter{plural}, told from its beginnings to what remained.\n\n")
}

/// The second part.
pub(crate) fn contents(chapters: u32) -> String {
    let lines: String = (1..=chapters).map(|number| format!("- {}\n", title(number))).collect();
    format!("{lines}\n")
}

/// A chapter in the style that was wished for last.
pub(crate) fn text(topic: &str, number: u32, style: Option<&str>) -> String {
    let title = title(number);
    let style = style.map(|style| format!("As was asked for: {style}.\n\n")).unwrap_or_default();
    format!("## {title}\n\n{style}There is more to {topic} than meets the eye, and this is part {number} of it.\n\n")
}
