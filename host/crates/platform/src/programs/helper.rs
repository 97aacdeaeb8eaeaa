//! The helper: a process that starts programs for a server that is confined.

use super::program::{Pipes, Program};
use super::wire::{HelperReply, Request, receive, send};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::Duration;

/// The command that runs the helper.
pub const HELPER_COMMAND: &str = "start-programs";

/// How often the helper looks for programs that have ended by themselves, so that they do not stay as zombies.
const LOOK: Duration = Duration::from_secs(1);
/// How many instances of one program may run at once: it may be started again while the last one ends. Bounds what an attacker
/// who controls the server can start.
const MOST: usize = 2;

/// Starts and ends programs for the server at the other end of the socket, which names them in its first message. When the
/// server is gone, all of them end.
pub fn run_helper(socket: UnixStream) -> io::Result<()> {
    let mut programs = Programs::default();
    let mut socket = socket;
    let Ok((Request::Programs(known), _)) = receive(&mut socket) else { return Ok(()) };
    loop {
        socket.set_read_timeout(Some(LOOK))?;
        match socket_has_input(&socket) {
            Ok(true) => {}
            Ok(false) => {
                programs.forget_ended();
                continue;
            }
            Err(_) => return Ok(()),
        }
        socket.set_read_timeout(None)?;
        let Ok((request, _)) = receive(&mut socket) else { return Ok(()) };
        match request {
            Request::End(id) => programs.end(id),
            // A second list would let an attacker who now controls the server choose what runs.
            Request::Programs(_) => return Ok(()),
            Request::Start(place) => match programs.start(&known, place) {
                Ok((id, pipes)) => {
                    let pipes: Vec<_> = pipes.iter().map(|pipe| pipe.as_fd()).collect();
                    send(&socket, &HelperReply::Started(id), &pipes)?;
                }
                Err(error) => {
                    let failed = HelperReply::Failed { code: error.raw_os_error(), text: error.to_string() };
                    send(&socket, &failed, &[])?;
                }
            },
        }
    }
}

/// Returns false if nothing has arrived for a while. Fails if nothing more can arrive.
fn socket_has_input(socket: &UnixStream) -> io::Result<bool> {
    use rustix::net::{RecvFlags, recv};
    match recv(socket, &mut [0; 1][..], RecvFlags::PEEK) {
        Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(true),
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[derive(Default)]
struct Programs {
    /// Each program with its index in the list.
    running: HashMap<u64, (usize, Child)>,
    /// How many programs have been started.
    count: u64,
}

impl Programs {
    fn start(&mut self, known: &[Program], place: usize) -> io::Result<(u64, Pipes)> {
        let program = known.get(place).ok_or(io::ErrorKind::InvalidInput)?;
        self.forget_ended();
        if self.running.values().filter(|(of, _)| *of == place).count() >= MOST {
            return Err(io::Error::other("it runs already"));
        }
        let (child, pipes) = program.start()?;
        self.count += 1;
        self.running.insert(self.count, (place, child));
        Ok((self.count, pipes))
    }

    fn forget_ended(&mut self) {
        self.running.retain(|_, (_, child)| matches!(child.try_wait(), Ok(None)));
    }

    fn end(&mut self, id: u64) {
        if let Some((_, mut child)) = self.running.remove(&id) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        let all: Vec<u64> = self.running.keys().copied().collect();
        all.into_iter().for_each(|id| self.end(id));
    }
}
