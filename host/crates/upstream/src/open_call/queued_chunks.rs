//! Queues the chunks of calls whose readers are slow, within limits: a server cannot be made to wait.

use runtime::imports::{Chunk, Content};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Queued chunks of one call, and their size in KiB. Bounds what a server makes us keep.
const MAX_CHUNKS: usize = 256;
const MAX_OF_CALL: usize = 4 << 10;
/// Size of the queued chunks of all calls of one server, in KiB.
const MAX_OF_SERVER: usize = 32 << 10;

/// Room for the queued chunks of all calls of one server.
#[derive(Clone)]
pub(crate) struct ChunkRoom(Arc<Semaphore>);

impl Default for ChunkRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_OF_SERVER)))
    }
}

/// A chunk, and the room that it takes until it is dropped.
pub(crate) struct QueuedChunk {
    chunk: Chunk,
    _room: [OwnedSemaphorePermit; 2],
}

impl QueuedChunk {
    /// Returns the chunk and frees its room.
    pub(crate) fn into_chunk(self) -> Chunk {
        self.chunk
    }
}

/// Puts chunks into the queue of one call.
pub(crate) struct ChunkQueue {
    queue: mpsc::Sender<QueuedChunk>,
    room: [Arc<Semaphore>; 2],
}

impl ChunkQueue {
    /// Returns the receiving end as well.
    pub(crate) fn new(server: &ChunkRoom) -> (Self, mpsc::Receiver<QueuedChunk>) {
        let (queue, chunks) = mpsc::channel(MAX_CHUNKS);
        (Self { queue, room: [Arc::new(Semaphore::new(MAX_OF_CALL)), server.0.clone()] }, chunks)
    }

    /// Queues a chunk. False if there is no room, or nobody reads any more.
    pub(crate) fn push(&self, chunk: Chunk) -> bool {
        let size = chunk.content.iter().map(Content::size).sum::<u64>();
        let kib = u32::try_from(size.div_ceil(1 << 10)).unwrap_or(u32::MAX);
        let [own, all] = &self.room;
        let room =
            || Some([own.clone().try_acquire_many_owned(kib).ok()?, all.clone().try_acquire_many_owned(kib).ok()?]);
        room().is_some_and(|room| self.queue.try_send(QueuedChunk { chunk, _room: room }).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(bytes: usize) -> Chunk {
        Chunk { content: vec![Content::text("x".repeat(bytes))], origin: vec![] }
    }

    #[test]
    fn what_slow_readers_have_not_read_is_bounded() {
        let room = ChunkRoom::default();
        let mut calls: Vec<_> = (0..9).map(|_| ChunkQueue::new(&room)).collect();
        for (call, _) in &calls[..8] {
            assert!((0..4).all(|_| call.push(chunk(1 << 20))));
            assert!(!call.push(chunk(1)), "4 MiB of one call");
        }
        let (last, _) = &calls[8];
        assert!(last.push(chunk(0)) && !last.push(chunk(1)), "32 MiB of all calls");
        let read = calls[0].1.try_recv().unwrap().into_chunk();
        assert_eq!(read, chunk(1 << 20));
        assert!(calls[8].0.push(chunk(1 << 20)) && !calls[0].0.push(chunk(1)));
        calls.truncate(1);
        assert!((0..MAX_CHUNKS).filter(|_| calls[0].0.push(chunk(0))).count() == MAX_CHUNKS - 3);
    }
}
