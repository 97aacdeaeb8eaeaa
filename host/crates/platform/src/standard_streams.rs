//! The stdin and stdout of this process, for asynchronous use. Pipes and sockets are read and written directly, and anything
//! else by tokio's threads.
//!
//! Other processes may share the files behind stdin and stdout, and none of them expects these to become non-blocking. So a
//! pipe is opened a second time, and each operation on a socket has a flag that makes it not wait.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

pub type Input = Box<dyn AsyncRead + Send + Unpin>;
pub type StandardOutput = Box<dyn AsyncWrite + Send + Unpin>;

/// Must be called in a tokio runtime.
pub fn stdin() -> Input {
    match NonBlockingStream::open(&io::stdin(), OFlags::RDONLY, Interest::READABLE) {
        Some(stream) => Box::new(stream),
        None => Box::new(tokio::io::stdin()),
    }
}

/// Must be called in a tokio runtime.
pub fn stdout() -> StandardOutput {
    match NonBlockingStream::open(&io::stdout(), OFlags::WRONLY, Interest::WRITABLE) {
        Some(stream) => Box::new(stream),
        None => Box::new(tokio::io::stdout()),
    }
}

/// Whether both are pipes or sockets. Then nothing that is written is consumed before this process reads it.
pub fn are_pipes_or_sockets() -> bool {
    let is_one = |stream: &dyn AsFd| {
        let kind = rustix::fs::fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
        matches!(kind, Ok(FileType::Fifo | FileType::Socket))
    };
    is_one(&io::stdin()) && is_one(&io::stdout())
}

/// Returns when the other end of stdout is closed, or never if the system cannot report that. Must be called in a tokio
/// runtime.
pub async fn nobody_reads_stdout() {
    let Some(stdout) = NonBlockingStream::open(&io::stdout(), OFlags::WRONLY, Interest::ERROR) else {
        return std::future::pending().await;
    };
    stdout.other_end_closed().await;
}

/// Returns when the other end of stdin is closed, or never if the system cannot report that. Reads nothing. Must be called in a
/// tokio runtime.
pub async fn nobody_writes_stdin() {
    let Some(stdin) = NonBlockingStream::open(&io::stdin(), OFlags::RDONLY, Interest::READABLE) else {
        return std::future::pending().await;
    };
    stdin.no_more_is_written().await;
}

#[derive(Clone, Copy)]
enum StreamKind {
    Pipe,
    Socket,
}

/// A pipe or a socket, whose operations never wait.
struct NonBlockingStream {
    kind: StreamKind,
    stream: AsyncFd<OwnedFd>,
}

impl NonBlockingStream {
    /// None if the stream is neither a pipe nor a socket, or cannot be used without a thread.
    fn open(stream: &(impl AsFd + AsRawFd), access: OFlags, interest: Interest) -> Option<Self> {
        let (kind, own) = match FileType::from_raw_mode(rustix::fs::fstat(stream).ok()?.st_mode) {
            FileType::Fifo => {
                let name = format!("/proc/self/fd/{}", stream.as_raw_fd());
                let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
                (StreamKind::Pipe, rustix::fs::open(name, flags, Mode::empty()).ok()?)
            }
            FileType::Socket => (StreamKind::Socket, stream.as_fd().try_clone_to_owned().ok()?),
            _ => return None,
        };
        #[allow(deprecated, reason = "sound for an `OwnedFd`; its successor is an unsafe function")]
        let stream = AsyncFd::with_interest(own, interest).ok()?;
        Some(Self { kind, stream })
    }

    /// Returns when the other end is closed. For a stream of `Interest::ERROR`.
    async fn other_end_closed(&self) {
        match self.stream.ready(Interest::ERROR).await {
            Ok(_) => {}
            Err(_) => std::future::pending().await,
        }
    }

    /// Returns when nothing more can be written at the other end. For a stream of `Interest::READABLE`.
    async fn no_more_is_written(&self) {
        loop {
            match self.stream.readable().await {
                Ok(ready) if ready.ready().is_read_closed() => return,
                // Data that can be read stays there. The end is reported separately.
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => return std::future::pending().await,
            }
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match self.kind {
            StreamKind::Pipe => rustix::io::read(&self.stream, buffer),
            StreamKind::Socket => rustix::net::recv(&self.stream, buffer, RecvFlags::DONTWAIT).map(|(_, read)| read),
        }
    }

    fn try_write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match self.kind {
            StreamKind::Pipe => rustix::io::write(&self.stream, bytes),
            StreamKind::Socket => rustix::net::send(&self.stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
        }
    }
}

impl AsyncRead for NonBlockingStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        loop {
            let mut ready = ready!(self.stream.poll_read_ready(cx))?;
            match self.try_read(room) {
                Ok(read) => {
                    // A short read means that there is nothing more for now. A read of 0 bytes means the end, where the stream
                    // stays ready.
                    if read > 0 && read < room.len() {
                        ready.clear_ready();
                    }
                    buffer.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncWrite for NonBlockingStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.stream.poll_write_ready(cx))?;
            match self.try_write(bytes) {
                Ok(written) => return Poll::Ready(Ok(written)),
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::time::timeout;

    fn is_blocking(stream: &impl AsFd) -> bool {
        !rustix::fs::fcntl_getfl(stream).unwrap().contains(OFlags::NONBLOCK)
    }

    /// A megabyte is more than a pipe or a socket holds, so both ends have to wait.
    async fn carries_a_megabyte(near: impl AsFd + AsRawFd, far: impl AsFd + AsRawFd) {
        let mut output = NonBlockingStream::open(&near, OFlags::WRONLY, Interest::WRITABLE).expect("direct");
        let mut input = NonBlockingStream::open(&far, OFlags::RDONLY, Interest::READABLE).expect("direct");
        let sent: Vec<u8> = (0..1 << 20).map(|at: u32| at.to_le_bytes()[1]).collect();
        let expected = sent.clone();
        let writing = tokio::spawn(async move { output.write_all(&sent).await });
        let mut received = vec![0; expected.len()];
        input.read_exact(&mut received).await.unwrap();
        writing.await.unwrap().unwrap();
        assert!(received == expected);
        assert!(is_blocking(&near) && is_blocking(&far), "others who share it still wait");
        drop((near, far));
    }

    #[tokio::test]
    async fn pipes_and_sockets_are_used_directly_and_stay_blocking() {
        let (reader, writer) = io::pipe().unwrap();
        carries_a_megabyte(writer, reader).await;
        let (near, far) = UnixStream::pair().unwrap();
        carries_a_megabyte(near, far).await;
    }

    #[tokio::test]
    async fn the_end_is_seen() {
        let (far, near) = UnixStream::pair().unwrap();
        let mut input = NonBlockingStream::open(&near, OFlags::RDONLY, Interest::READABLE).unwrap();
        drop(far);
        assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0);
        let mut output = NonBlockingStream::open(&near, OFlags::WRONLY, Interest::WRITABLE).unwrap();
        assert_eq!(output.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn the_end_is_told_while_something_is_still_to_be_read() {
        async fn is_told(near: impl AsFd + AsRawFd, mut far: impl io::Write) {
            let input = NonBlockingStream::open(&near, OFlags::RDONLY, Interest::READABLE).unwrap();
            far.write_all(b"x").unwrap();
            assert!(timeout(Duration::from_millis(20), input.no_more_is_written()).await.is_err(), "it goes on");
            far.write_all(b"y").unwrap();
            drop(far);
            input.no_more_is_written().await;
            let mut buffer = [0; 8];
            assert_eq!(input.try_read(&mut buffer), Ok(2), "nothing was taken");
        }
        let (reader, writer) = io::pipe().unwrap();
        is_told(reader, writer).await;
        let (near, far) = UnixStream::pair().unwrap();
        is_told(near, far).await;
    }

    #[tokio::test]
    async fn a_file_is_left_to_a_thread() {
        let file = File::open("/dev/null").unwrap();
        assert!(NonBlockingStream::open(&file, OFlags::RDONLY, Interest::READABLE).is_none());
    }
}
