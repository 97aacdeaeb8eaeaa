//! Lane `live`: the client opens a channel, receives reverse calls on its stream, and answers each with a request.

mod channels;
mod requests;
#[cfg(test)]
mod tests;

pub(crate) use channels::{ChannelError, LiveChannels};
pub(crate) use requests::{listen, respond};
