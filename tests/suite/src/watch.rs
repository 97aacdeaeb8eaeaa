//! Measuring the CPU time of a server.

use crate::server::Server;
use crate::waiting::eventually;
use std::time::{Duration, Instant};

/// Measures the CPU time that a server uses from now on.
pub struct Watch {
    start: Duration,
}

impl Watch {
    /// Starts the measurement.
    pub fn start(server: &Server) -> Self {
        Self { start: server.cpu() }
    }

    /// Waits until the server computes, so that the call to be stopped has begun.
    pub fn until_busy(server: &Server) {
        let start = server.cpu();
        let busy = eventually(crate::PATIENCE, || (server.cpu() > start + Duration::from_millis(100)).then_some(()));
        assert!(busy.is_some(), "the server never began to compute\n{}", server.log());
    }

    /// Waits until the server is idle. Returns the CPU time that it used until then. Unlike elapsed time, it shows how
    /// long a guest ran even on a busy machine.
    pub fn until_idle(self, server: &Server) -> Duration {
        let window = Duration::from_millis(200);
        let end = Instant::now() + crate::PATIENCE;
        loop {
            let before = server.cpu();
            std::thread::sleep(window);
            // The epoch ticker and timers may run; a spinning guest uses nearly all of the window.
            if server.cpu() - before < window / 20 {
                return before - self.start;
            }
            assert!(Instant::now() < end, "the server never became idle\n{}", server.log());
        }
    }
}
