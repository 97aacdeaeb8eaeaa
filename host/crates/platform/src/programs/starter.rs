//! Starts a program in this process or by means of the helper.

use super::helper::HELPER_COMMAND;
use super::program::Program;
use super::wire::{self, HelperReply, Request};
use crate::sync::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::unix::pipe;

/// How long the helper may take to start a program. Bounds how long others wait if the start hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a program in this process, or makes the helper start it.
#[derive(Debug, Clone, Default)]
pub struct ProgramStarter(Option<Helpers>);

/// One of the programs of the helper.
#[derive(Debug, Clone)]
struct Helpers {
    socket: Arc<Mutex<UnixStream>>,
    /// Its index in the list that was sent to the helper.
    program: usize,
}

/// A program that runs until this is dropped or it ends by itself.
pub struct StartedProgram {
    pub stdin: pipe::Sender,
    pub stdout: pipe::Receiver,
    pub stderr: pipe::Receiver,
    pub life: ProgramLife,
}

/// Ends the program when it is dropped.
pub struct ProgramLife {
    life: Life,
    /// Becomes readable when the program has ended. None if the kernel does not support pidfds.
    process: Option<OwnedFd>,
}

enum Life {
    Own(Child),
    /// The helper's socket, and its number for the program.
    Helpers(Arc<Mutex<UnixStream>>, u64),
}

impl ProgramStarter {
    /// Starts the helper for these programs. It is this program with the command [`HELPER_COMMAND`], and ends with this
    /// process. Returns one starter for each program, in their order.
    pub fn with_helper(this: &Path, programs: Vec<Program>) -> io::Result<Vec<Self>> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        ours.set_write_timeout(Some(PATIENCE))?;
        let mut helper = Command::new(this);
        // A key at the terminal then reaches only the server, which ends its programs.
        helper.arg(HELPER_COMMAND).env_clear().stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).process_group(0);
        helper.spawn()?;
        Self::of_helper(ours, programs)
    }

    fn of_helper(socket: UnixStream, programs: Vec<Program>) -> io::Result<Vec<Self>> {
        let count = programs.len();
        wire::send(&socket, &Request::Programs(programs), &[])?;
        let socket = Arc::new(Mutex::new(socket));
        Ok((0..count).map(|program| Self(Some(Helpers { socket: socket.clone(), program }))).collect())
    }

    /// Starts the program. With a helper, it is the one from the helper's list. Blocks for a moment.
    pub fn start(&self, program: &Program) -> io::Result<StartedProgram> {
        let (life, pipes) = match &self.0 {
            None => {
                let (child, pipes) = program.start()?;
                (Life::Own(child), pipes)
            }
            Some(Helpers { socket: shared, program }) => {
                let mut socket = shared.lock();
                wire::send(&socket, &Request::Start(*program), &[])?;
                let (reply, pipes) = wire::receive(&mut socket).map_err(|error| {
                    // An answer that arrives late would be mistaken for the answer to the next request.
                    let _ = socket.shutdown(Shutdown::Both);
                    helper_is_gone(error)
                })?;
                match reply {
                    HelperReply::Started(id) => (Life::Helpers(shared.clone(), id), pipes),
                    HelperReply::Failed { code: Some(code), .. } => return Err(io::Error::from_raw_os_error(code)),
                    HelperReply::Failed { code: None, text } => return Err(io::Error::other(text)),
                }
            }
        };
        let mut pipes = pipes.into_iter();
        let (Some(stdin), Some(stdout), Some(stderr)) = (pipes.next(), pipes.next(), pipes.next()) else {
            return Err(io::Error::other("the pipes of the program are lost"));
        };
        let process = pipes.next();
        let life = ProgramLife { life, process };
        let (stdin, stdout) = (pipe::Sender::from_owned_fd(stdin)?, pipe::Receiver::from_owned_fd(stdout)?);
        Ok(StartedProgram { stdin, stdout, stderr: pipe::Receiver::from_owned_fd(stderr)?, life })
    }
}

fn helper_is_gone(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the process that starts programs does not answer; restart the server ({error})"),
    )
}

impl ProgramLife {
    /// Waits at most this long for the end of the program. Returns whether it has ended.
    pub async fn has_ended_within(&self, limit: Duration) -> bool {
        let Some(Ok(process)) = self.process.as_ref().map(OwnedFd::try_clone) else {
            tokio::time::sleep(limit).await;
            return false;
        };
        let wait = move || {
            let limit = Timespec::try_from(limit).ok();
            poll(&mut [PollFd::new(&process, PollFlags::IN)], limit.as_ref()).is_ok_and(|ended| ended > 0)
        };
        tokio::task::spawn_blocking(wait).await.unwrap_or_default()
    }
}

impl Drop for ProgramLife {
    fn drop(&mut self) {
        match &mut self.life {
            Life::Own(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            // If the helper is gone, the program ends because its stdin does.
            Life::Helpers(helper, id) => drop(wire::send(&helper.lock(), &Request::End(*id), &[])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::run_helper;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn shell(script: &str) -> Program {
        Program::new("/bin/sh".into(), vec!["-c".into(), script.into()])
    }

    /// The starters of these programs, without a helper and with one.
    fn starters<const N: usize>(programs: impl Fn() -> [Program; N]) -> [Vec<ProgramStarter>; 2] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || run_helper(theirs).unwrap());
        let of_helper = ProgramStarter::of_helper(ours, programs().into()).unwrap();
        [vec![ProgramStarter::default(); N], of_helper]
    }

    #[tokio::test]
    async fn a_program_has_its_pipes_and_variables_whoever_starts_it() {
        let programs = || {
            let program = shell("read line; echo \"$line $A $HOME\"; echo bad >&2");
            let program = program.with_variable("A".as_ref(), "1".as_ref()).with_variable("A".as_ref(), "2".as_ref());
            [program, Program::new("/nowhere/server".into(), vec![])]
        };
        for starters in starters(programs) {
            let [program, missing] = programs();
            let mut started = starters[0].start(&program).unwrap();
            started.stdin.write_all(b"hello\n").await.unwrap();
            let (mut out, mut err) = (String::new(), String::new());
            started.stdout.read_to_string(&mut out).await.unwrap();
            started.stderr.read_to_string(&mut err).await.unwrap();
            assert_eq!((&*out, &*err), ("hello 2 \n", "bad\n"), "{starters:?}");
            assert!(started.life.has_ended_within(PATIENCE).await);
            let error = starters[1].start(&missing).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{starters:?}");
        }
    }

    /// Otherwise an attacker who controls the server could run anything.
    #[tokio::test]
    async fn the_helper_starts_what_it_was_told_at_first_and_nothing_else() {
        let [_, starters] = starters(|| [shell("echo told")]);
        let mut started = starters[0].start(&shell("echo other")).unwrap();
        let mut out = String::new();
        started.stdout.read_to_string(&mut out).await.unwrap();
        assert_eq!(out, "told\n");
        let Some(Helpers { socket, .. }) = &starters[0].0 else { panic!("it has no helper") };
        let beyond = ProgramStarter(Some(Helpers { socket: socket.clone(), program: 1 }));
        assert!(beyond.start(&shell("echo other")).is_err());
        wire::send(&socket.lock(), &Request::Programs(vec![shell("echo other")]), &[]).unwrap();
        assert!(starters[0].start(&shell("echo other")).is_err(), "the list is told once");
    }

    #[tokio::test]
    async fn a_program_ends_when_nobody_wants_it_any_more() {
        let programs = || [shell("exec sleep 1000"), shell("exec sleep 1000")];
        for starters in starters(programs) {
            let [one, two] = programs();
            let (one, two) = (starters[0].start(&one).unwrap(), starters[1].start(&two).unwrap());
            let StartedProgram { mut stdout, life, stdin, .. } = one;
            assert!(!life.has_ended_within(Duration::ZERO).await);
            drop((life, stdin));
            // The program has ended when its pipe ends.
            assert_eq!(stdout.read(&mut [0; 9]).await.unwrap(), 0, "{starters:?}");
            let StartedProgram { mut stdout, life, .. } = two;
            assert!(stdout.try_read(&mut [0; 9]).is_err(), "the other one goes on");
            drop(life);
            assert_eq!(stdout.read(&mut [0; 9]).await.unwrap(), 0, "{starters:?}");
        }
    }

    #[tokio::test]
    async fn a_program_runs_twice_at_most() {
        let [_, starters] = starters(|| [shell("exec sleep 1000"), shell("exec sleep 1000")]);
        let start = |place: usize| starters[place].start(&shell(""));
        let (one, _two) = (start(0).unwrap(), start(0).unwrap());
        assert!(start(0).err().unwrap().to_string().contains("runs already"));
        start(1).unwrap();
        drop(one);
        start(0).unwrap();
    }

    #[tokio::test]
    async fn all_programs_end_with_the_server() {
        let [_, starters] = starters(|| [shell("exec sleep 1000")]);
        let StartedProgram { mut stdout, life, .. } = starters[0].start(&shell("")).unwrap();
        let Life::Helpers(socket, _) = &life.life else { panic!("it has no helper") };
        socket.lock().shutdown(Shutdown::Both).unwrap();
        assert_eq!(stdout.read(&mut [0; 9]).await.unwrap(), 0);
        assert!(starters[0].start(&shell("")).is_err());
    }
}
