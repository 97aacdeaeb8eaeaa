//! What a program writes to stderr. Whoever looks reads first what is in the pipe: what was written before an answer is there
//! once the answer is.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clones read the same log.
#[derive(Clone)]
pub(crate) struct LogReader(Arc<Mutex<Log>>);

struct Log {
    pipe: ChildStderr,
    lines: Vec<String>,
    unfinished: Vec<u8>,
}

impl LogReader {
    /// Keeps the pipe from filling up, too.
    pub(crate) fn start(pipe: ChildStderr) -> Self {
        fcntl_getfl(&pipe).and_then(|flags| fcntl_setfl(&pipe, flags | OFlags::NONBLOCK)).expect("setting up a pipe");
        let readable = rustix::io::dup(&pipe).expect("another descriptor of a pipe");
        let reader = Self(Arc::new(Mutex::new(Log { pipe, lines: Vec::new(), unfinished: Vec::new() })));
        let kept = reader.clone();
        std::thread::spawn(move || {
            loop {
                // A signal is no reason to end, nor is anything else while the pipe can be read.
                let _ = poll(&mut [PollFd::new(&readable, PollFlags::IN)], None);
                if kept.lock().read() == Pipe::Ended {
                    break;
                }
            }
        });
        reader
    }

    /// The lines so far.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&[String]) -> T) -> T {
        let mut log = self.lock();
        log.read();
        look(&log.lines)
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(PartialEq, Eq)]
enum Pipe {
    Empty,
    Ended,
}

impl Log {
    /// Reads all that is there.
    fn read(&mut self) -> Pipe {
        let mut piece = [0; 1 << 16];
        loop {
            match rustix::io::read(&self.pipe, &mut piece) {
                Ok(0) => {
                    self.add(if self.unfinished.is_empty() { b"" } else { b"\n" });
                    return Pipe::Ended;
                }
                Ok(length) => self.add(&piece[..length]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Pipe::Empty,
                Err(error) => panic!("reading a log: {error}"),
            }
        }
    }

    fn add(&mut self, piece: &[u8]) {
        self.unfinished.extend(piece);
        if let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') {
            let rest = self.unfinished.split_off(end + 1);
            let whole = std::mem::replace(&mut self.unfinished, rest);
            let lines =
                whole[..end].split(|byte| *byte == b'\n').map(|line| String::from_utf8_lossy(line).into_owned());
            self.lines.extend(lines);
        }
    }
}
