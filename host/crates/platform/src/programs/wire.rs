//! The messages between a server and its helper: JSON after its length, with descriptors as ancillary data.

use super::program::{PIPES, Program};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The longest message, in bytes. The kernel accepts no more for arguments and environment.
const MAX_MESSAGE: usize = 8 << 20;

#[derive(Serialize, Deserialize)]
pub(super) enum Request {
    /// The list of all programs that may ever be started. It must be the first message, and cannot be sent again.
    Programs(Vec<Program>),
    /// Starts the program with this index in the list.
    Start(usize),
    /// Ends the program with this number.
    End(u64),
}

#[derive(Serialize, Deserialize)]
pub(super) enum HelperReply {
    /// The number of the program; its pipes are sent with this message.
    Started(u64),
    Failed {
        code: Option<i32>,
        text: String,
    },
}

pub(super) fn send(socket: &UnixStream, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    let length = u32::try_from(text.len()).ok().filter(|_| text.len() <= MAX_MESSAGE);
    let length = length.ok_or_else(|| io::Error::other("the program's arguments and environment are too long"))?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PIPES))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("too many descriptors"));
    }
    // The descriptors are sent with the length, which is sent as a whole or not at all.
    let length = length.to_le_bytes();
    let sent = sendmsg(socket.as_fd(), &[IoSlice::new(&length)], &mut beside, SendFlags::NOSIGNAL)?;
    if sent != length.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    let mut socket = socket;
    socket.write_all(&text)
}

pub(super) fn receive<T: DeserializeOwned>(socket: &mut UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PIPES))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let received = recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut length)], &mut beside, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    socket.read_exact(&mut length[received.bytes..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(io::Error::other("a message is too long"));
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok((serde_json::from_slice(&text)?, descriptors))
}
