//! A small calendar. Meant for the agent's side, where other plugins call it back.
//!
//! Which hours are free follows from the date alone, so that whoever stands in for this calendar can say the same; with a
//! granted folder there are events, too, and their hours are taken.

mod day;
mod events;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "write"))]
mod calendar {
    use std::time::Duration;

    use portcullis_guest::ToolError;

    use crate::day::{self, Day};
    use crate::events::{self, Created};

    /// Free hours of one day.
    #[tool(title = "Free hours", read_only, idempotent, open_world = false)]
    fn free_slots(
        /// A date such as 2026-12-01.
        #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
        day: String,
    ) -> Result<Day, ToolError> {
        let free = day::free(&day)?;
        let taken = events::starts(&day)?;
        Ok(Day { slots: free.into_iter().filter(|slot| !taken.contains(slot)).collect(), day })
    }

    /// Puts an event into the calendar. Two events never start at the same hour.
    #[tool(title = "Create an event", destructive = false, idempotent = false, open_world = false)]
    fn create_event(
        /// A date such as 2026-12-01.
        #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
        day: String,
        /// A free hour, such as 09:00.
        #[schemars(regex(pattern = r"^\d{2}:00$"))]
        start: String,
        /// What it is about, in a line.
        #[schemars(length(min = 1, max = 200))]
        title: String,
    ) -> Result<Created, ToolError> {
        if !day::free(&day)?.contains(&start) {
            return Err(ToolError::failed(format_args!("{day} {start} is not free")));
        }
        events::create(day, start, title)
    }

    /// Brings the calendar up to date with others, which takes its time.
    #[tool(title = "Synchronise", destructive = false, idempotent)]
    fn sync(
        /// How long the others take.
        #[arg(default = 5_000)]
        #[schemars(range(min = 0, max = 60_000))]
        milliseconds: u64,
    ) -> String {
        std::thread::sleep(Duration::from_millis(milliseconds));
        "up to date".to_owned()
    }
}
