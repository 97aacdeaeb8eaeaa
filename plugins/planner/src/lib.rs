//! Plans a day by calling the agent's calendar back.
//!
//! Shows reverse calls: [`plan`] asks twenty days in batches and puts one event into the calendar, straight on, wherever
//! the calendar lives: in this host, with the client, or in a model's head. [`mishaps`] makes every call that can go wrong
//! and tells each error in a line.

mod date;
mod mishaps;
mod plan;
mod report;
mod slots;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(agent_tools = ["calendar.*", "assistant.*", "mail.send"]))]
mod planner {
    use portcullis_guest::ToolError;

    use crate::mishaps::Mishap;
    use crate::plan::{self, Wish};
    use crate::report::{Overhead, Plan};
    use crate::{date, slots};

    /// Finds the best free hour in the agent's calendar and puts an event there.
    #[tool(title = "Plan a day", read_only = false, destructive = false, idempotent = false, open_world = false)]
    fn plan_day(
        /// What the event is about.
        #[schemars(length(min = 1, max = 200))]
        title: String,
        /// The first day to look at, such as 2026-12-01; tomorrow if left out.
        #[schemars(regex(pattern = r"^\d{4}-\d{2}-\d{2}$"))]
        from: Option<String>,
        /// How many days to look at.
        #[arg(default = 20)]
        #[schemars(range(min = 1, max = 100))]
        days: u32,
        /// How many of them are asked for at once.
        #[arg(default = 5)]
        #[schemars(range(min = 1, max = 64))]
        batch: u32,
        /// Calls that go wrong, made after the plan to show how.
        #[arg(default)]
        mishaps: Vec<Mishap>,
    ) -> Result<Plan, ToolError> {
        let from = match from {
            Some(from) => date::read(&from)?,
            None => date::tomorrow(),
        };
        plan::make(&Wish { title, from, days, batch, mishaps })
    }

    /// Asks the agent's calendar for one day, again and again, one call after the other: for measuring what a call costs.
    #[tool(title = "Measure calls", read_only, idempotent, open_world = false)]
    fn overhead(
        /// How many calls.
        #[arg(default = 100)]
        #[schemars(range(min = 1, max = 10_000))]
        calls: u32,
    ) -> Overhead {
        let succeeded = (0..calls).filter(|_| slots::of("2026-12-01").is_ok()).count();
        Overhead { calls, succeeded }
    }
}
