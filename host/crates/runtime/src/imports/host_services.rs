//! The services of the host that the imports of all calls use.

use super::wasi::OpenFiles;
use super::{connections, events, http, publish, state, unusable_state};
use std::sync::Arc;

macro_rules! host_services {
    ($($(#[$about:meta])* $name:ident: $service:ty = $none:expr;)+) => {
        /// The services that the imports of all calls use.
        pub struct HostServices {
            $($(#[$about])* pub $name: Arc<$service>,)+
        }

        impl HostServices {
            /// Services that refuse everything: for asking a component what it offers, and for a host without them.
            pub fn none() -> Self {
                Self { $($name: $none,)+ }
            }
        }
    };
}

// Each with what stands in for it where a host has none.
host_services! {
    publisher: dyn publish::Publisher = Arc::new(publish::NoPublisher);
    events: dyn events::EventSink = Arc::new(events::NoInbox);
    state: dyn state::StateStore = Arc::new(unusable_state::UnusableState::NO_FOLDER);
    /// Sends HTTP requests.
    egress: dyn http::Egress = Arc::new(http::NoEgress);
    /// The accounts that users have connected.
    connections: dyn connections::Connections = Arc::new(connections::NoConnections);
    /// Counts and limits the files that all guests together have open.
    open_files: OpenFiles = OpenFiles::new(0);
}
