//! The standard streams of one instance. Those of a program are its call's: input and arguments come from the caller, output
//! goes back. For every other guest, the input is empty, there are no arguments, and the output goes to the log.

use super::excerpt::Excerpt;
use super::flush_reason::FlushReason;
use super::program_output::ProgramOutput;
use bytes::Bytes;
use platform::sync::Mutex;
use policy::Limits;
use std::sync::Arc;

/// The streams that the guest has opened, maybe before its call, use the same state. Clones share it.
#[derive(Clone, Default)]
pub struct StandardStreams(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    input: ProgramInput,
    output: Option<ProgramOutput>,
}

/// What a program is started with.
#[derive(Default)]
pub struct ProgramInput {
    /// The first is its name.
    pub arguments: Vec<String>,
    pub stdin: Bytes,
}

/// What a program's result shows of a stream.
pub struct Written {
    /// With a remark where something is left out.
    pub text: String,
    /// Bytes that are left out.
    pub dropped: u64,
}

/// What to do next with a program's output.
pub(super) enum Next {
    Nothing,
    /// Send this piece.
    Piece(String),
    /// Find out whether the pace allows another chunk.
    Ask,
}

impl StandardStreams {
    /// Makes these the streams of a program from now on.
    pub(crate) fn begin(&self, input: ProgramInput, limits: &Limits) {
        *self.0.lock() = State { input, output: Some(ProgramOutput::new(limits)) };
    }

    /// stdout and stderr of the program; none if none has begun.
    pub(crate) fn end(&self) -> Option<(Written, Written)> {
        let (stdout, stderr) = std::mem::take(&mut *self.0.lock()).output?.into_excerpts();
        let written = |excerpt: Excerpt| {
            let (text, dropped) = excerpt.into_text();
            Written { text, dropped }
        };
        Some((written(stdout), written(stderr)))
    }

    /// Bytes that the host holds.
    pub(crate) fn held_bytes(&self) -> u64 {
        let state = self.0.lock();
        state.input.stdin.len() as u64 + state.output.as_ref().map_or(0, ProgramOutput::held_bytes)
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        self.0.lock().input.arguments.clone()
    }

    /// The next bytes of stdin; none at its end.
    pub(super) fn read(&self, size: usize) -> Option<Bytes> {
        let stdin = &mut self.0.lock().input.stdin;
        let size = size.min(stdin.len());
        (!stdin.is_empty()).then(|| stdin.split_to(size))
    }

    /// Returns whether a program wrote it; if not, it belongs into the log.
    pub(super) fn write_stdout(&self, bytes: &[u8]) -> bool {
        self.0.lock().output.as_mut().map(|output| output.write_stdout(bytes)).is_some()
    }

    pub(super) fn write_stderr(&self, bytes: &[u8]) {
        if let Some(output) = &mut self.0.lock().output {
            output.write_stderr(bytes);
        }
    }

    /// Fuel for what was written.
    pub(super) fn take_unpaid(&self) -> u64 {
        self.0.lock().output.as_mut().map_or(0, ProgramOutput::take_unpaid)
    }

    pub(super) fn next(&self, flush_reason: FlushReason) -> Next {
        let mut state = self.0.lock();
        let Some(output) = &mut state.output else { return Next::Nothing };
        match output.take_full() {
            Some(piece) => Next::Piece(piece),
            None if !output.has_some(flush_reason) => Next::Nothing,
            None if flush_reason == FlushReason::Ends => Next::Piece(output.take_some(flush_reason)),
            None => Next::Ask,
        }
    }

    /// Whether the pace allows another chunk. `now` is in nanoseconds of the call's clock.
    pub(super) fn may_send(&self, flush_reason: FlushReason, now: u64) -> bool {
        self.0.lock().output.as_mut().is_some_and(|output| output.may_send(flush_reason, now))
    }

    pub(super) fn take_some(&self, flush_reason: FlushReason) -> Option<String> {
        self.0.lock().output.as_mut().map(|output| output.take_some(flush_reason))
    }

    /// Stops sending, because nobody accepts chunks any more.
    pub(super) fn stop_sending(&self) {
        if let Some(output) = &mut self.0.lock().output {
            output.stop_sending();
        }
    }
}
