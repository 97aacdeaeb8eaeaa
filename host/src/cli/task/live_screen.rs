//! A terminal on which one picture is drawn over the last, until a key ends it.

use crate::config::is_dumb_terminal;
use platform::text::truncate_chars;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use std::io::{IsTerminal, Read, Write, stdin, stdout};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Switches to the alternate screen, hides the cursor and turns line wrapping off.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_TO_END_OF_LINE: &str = "\x1b[K\r\n";
const CLEAR_BELOW: &str = "\x1b[J";
/// Ctrl-C and Ctrl-D as keys, and `q`.
const END_KEYS: [u8; 4] = [3, 4, b'q', b'Q'];
/// Rows and columns of a terminal that does not report its size.
const USUAL: (usize, usize) = (24, 80);

/// Restores the terminal when it is dropped.
pub(super) struct LiveScreen {
    before: Option<Termios>,
    end: CancellationToken,
}

impl LiveScreen {
    /// None if stdout is not a terminal, or one on which nothing can be drawn.
    pub(super) fn start() -> std::io::Result<Option<Self>> {
        if !stdout().is_terminal() || is_dumb_terminal() {
            return Ok(None);
        }
        let end = CancellationToken::new();
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        for kind in signals {
            let (mut signals, end) = (signal(kind)?, end.clone());
            tokio::spawn(async move {
                signals.recv().await;
                end.cancel();
            });
        }
        let screen = Self { before: tcgetattr(stdin()).ok(), end };
        if let Some(mut modes) = screen.before.clone() {
            // Keys are read one by one and are not shown. Ctrl-Z is off, since it would leave the terminal in this mode.
            modes.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            tcsetattr(stdin(), OptionalActions::Drain, &modes)?;
            let end = screen.end.clone();
            // The thread may wait for a key until the process ends.
            std::thread::spawn(move || {
                let mut key = [0];
                while matches!(stdin().read(&mut key), Ok(1)) && !END_KEYS.contains(&key[0]) {}
                end.cancel();
            });
        }
        write(ENTER)?;
        Ok(Some(screen))
    }

    /// Cancelled when a key or a signal ends the picture.
    pub(super) fn end(&self) -> &CancellationToken {
        &self.end
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row.into(), size.ws_col.into()),
            _ => USUAL,
        }
    }

    /// Draws lines over the current picture. What does not fit is left out.
    pub(super) fn draw(&self, lines: &[String]) -> std::io::Result<()> {
        let (rows, columns) = self.size();
        write(&frame(lines, rows, columns))
    }
}

impl Drop for LiveScreen {
    fn drop(&mut self) {
        // Fails when the terminal is gone, and nobody looks at it any more.
        let _ = write(LEAVE);
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Drain, before);
        }
    }
}

/// The output that draws lines over a screen of this size. It does not clear the screen first, which would flicker.
fn frame(lines: &[String], rows: usize, columns: usize) -> String {
    let mut frame = HOME.to_owned();
    // The last row stays empty, so that nothing scrolls.
    for line in lines.iter().take(rows.saturating_sub(1)) {
        frame.push_str(truncate_chars(line, columns));
        frame.push_str(CLEAR_TO_END_OF_LINE);
    }
    frame + CLEAR_BELOW
}

fn write(text: &str) -> std::io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_and_clears_what_was_there() {
        let lines = ["one", "a longer one", "three"].map(str::to_owned);
        assert_eq!(frame(&lines, 3, 5), "\x1b[Hone\x1b[K\r\na lon\x1b[K\r\n\x1b[J");
        assert_eq!(frame(&[], 0, 0), "\x1b[H\x1b[J");
    }
}
