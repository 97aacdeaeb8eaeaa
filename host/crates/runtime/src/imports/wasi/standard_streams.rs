//! The standard streams of one instance. Those of a program are its call's: input and arguments come from the caller, output
//! goes back. For every other guest, the input is empty, there are no arguments, and the output goes to the log.

use super::excerpt::Excerpt;
use super::occasion::Occasion;
use super::program_output::ProgramOutput;
use bytes::Bytes;
use platform::sync::Mutex;
use policy::Limits;
use std::sync::Arc;

/// Shared with the streams that the guest has opened, which may be before its call. Clones share them.
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

/// What is shown of a stream.
pub struct Written {
    /// With a remark where something is left out.
    pub text: String,
    /// Bytes that are left out.
    pub dropped: u64,
}

/// What is to be done next with a program's output.
pub(super) enum Next {
    Nothing,
    /// To send it.
    Piece(String),
    /// To find out whether the pace allows another.
    Ask,
}

impl StandardStreams {
    /// From now on they are a program's.
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

    /// Whether a program wrote it: then it is not the log's.
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

    pub(super) fn next(&self, occasion: Occasion) -> Next {
        let mut state = self.0.lock();
        let Some(output) = &mut state.output else { return Next::Nothing };
        match output.take_full() {
            Some(piece) => Next::Piece(piece),
            None if !output.has_some(occasion) => Next::Nothing,
            None if occasion == Occasion::Ends => Next::Piece(output.take_some(occasion)),
            None => Next::Ask,
        }
    }

    /// Whether the pace allows another chunk. `now`: nanoseconds of the call.
    pub(super) fn may_send(&self, occasion: Occasion, now: u64) -> bool {
        self.0.lock().output.as_mut().is_some_and(|output| output.may_send(occasion, now))
    }

    pub(super) fn take_some(&self, occasion: Occasion) -> Option<String> {
        self.0.lock().output.as_mut().map(|output| output.take_some(occasion))
    }

    /// Nobody takes chunks any more.
    pub(super) fn stop_sending(&self) {
        if let Some(output) = &mut self.0.lock().output {
            output.stop_sending();
        }
    }
}
