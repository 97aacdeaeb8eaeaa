//! The terminal between two prompts: what is typed while a command runs is not echoed. The next prompt reads it, and shows it
//! once.

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::stdin;

/// Does not echo until it is dropped. Without a terminal it does nothing.
pub(super) struct QuietTerminal {
    before: Option<Termios>,
}

impl QuietTerminal {
    pub(super) fn start() -> Self {
        let terminal = Self { before: tcgetattr(stdin()).ok() };
        terminal.set(true);
        terminal
    }

    /// Runs another program, which finds the terminal as it was before.
    pub(super) fn lend<T>(&self, run: impl FnOnce() -> T) -> T {
        self.set(false);
        let done = run();
        self.set(true);
        done
    }

    fn set(&self, quiet: bool) {
        let Some(mut modes) = self.before.clone() else { return };
        if quiet {
            // Without line mode, as at the prompt: it would not see the beginning of a line that the terminal still collects.
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        }
        // `Drain` keeps what was typed. This fails when the terminal is gone, and then nobody types any more.
        let _ = tcsetattr(stdin(), OptionalActions::Drain, &modes);
    }
}

impl Drop for QuietTerminal {
    fn drop(&mut self) {
        self.set(false);
    }
}
