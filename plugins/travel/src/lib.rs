//! Books a trip once its user has confirmed the price.
//!
//! Shows how a plugin asks in the middle of its work: [`agent`] reads from top to bottom, although the client answers in
//! another request, or in none. A form made of a struct; one effect, after a yes and only then; nothing at all without
//! somebody who can say yes; and a courtesy of the client's model that may fail.

mod agent;
mod bookings;
mod offer;
#[cfg(test)]
mod tests;

#[portcullis_guest::plugin(requests(filesystem = "write", client(form, sample)))]
mod travel {
    use portcullis_guest::{Context, ToolError};

    use crate::agent;

    /// Finds a trip, asks the user to confirm its price, and books it. Nothing is booked without the user's yes.
    #[tool(title = "Book a trip", read_only = false, destructive, idempotent = false, open_world = false)]
    fn travel_agent(
        ctx: &Context,
        /// A city's name.
        #[schemars(length(min = 1, max = 80))]
        destination: String,
    ) -> Result<String, ToolError> {
        agent::travel(ctx, &destination)
    }
}
