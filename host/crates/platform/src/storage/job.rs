//! The jobs that the thread of a database runs.

use super::error::StorageError;
use crate::durable::Durability;
use rusqlite::Connection;
use std::marker::PhantomData;

/// A part of a transaction.
pub(super) trait Job: Send {
    /// What its change must survive; none if the job does nothing in the database.
    fn durability(&self) -> Option<Durability>;

    /// Runs the job and keeps its result. May run again if its transaction was rolled back.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// Reports the result, once the transaction is committed or has failed.
    fn finish(self: Box<Self>, failed: Option<&StorageError>);
}

/// A job that changes or reads something.
pub(super) struct DatabaseJob<T, J, F: FnOnce(Result<T, StorageError>)> {
    durability: Durability,
    job: J,
    result: Option<T>,
    done: Done<T, F>,
}

impl<T, J, F: FnOnce(Result<T, StorageError>)> DatabaseJob<T, J, F> {
    pub(super) fn new(durability: Durability, job: J, done: F) -> Self {
        Self { durability, job, result: None, done: Done(Some(done), PhantomData) }
    }
}

impl<T, J, F> Job for DatabaseJob<T, J, F>
where
    T: Send,
    J: FnMut(&Connection) -> rusqlite::Result<T> + Send,
    F: FnOnce(Result<T, StorageError>) + Send,
{
    fn durability(&self) -> Option<Durability> {
        Some(self.durability)
    }

    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.result = Some((self.job)(connection)?);
        Ok(())
    }

    fn finish(mut self: Box<Self>, failed: Option<&StorageError>) {
        let result = self.result.take();
        match (failed, result) {
            (Some(error), _) => self.done.tell(Err(error.clone())),
            (None, Some(result)) => self.done.tell(Ok(result)),
            (None, None) => {}
        }
    }
}

/// A job that does something after everything before it is done.
pub(super) struct Afterwards<F: FnOnce(Result<(), StorageError>)>(Done<(), F>);

impl<F: FnOnce(Result<(), StorageError>)> Afterwards<F> {
    pub(super) fn new(done: F) -> Self {
        Self(Done(Some(done), PhantomData))
    }
}

impl<F: FnOnce(Result<(), StorageError>) + Send> Job for Afterwards<F> {
    fn durability(&self) -> Option<Durability> {
        None
    }

    fn run(&mut self, _: &Connection) -> rusqlite::Result<()> {
        Ok(())
    }

    fn finish(mut self: Box<Self>, failed: Option<&StorageError>) {
        self.0.tell(failed.cloned().map_or(Ok(()), Err));
    }
}

/// Reports exactly once, even if the job is dropped.
struct Done<T, F: FnOnce(Result<T, StorageError>)>(Option<F>, PhantomData<fn(T)>);

impl<T, F: FnOnce(Result<T, StorageError>)> Done<T, F> {
    fn tell(&mut self, result: Result<T, StorageError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T, F: FnOnce(Result<T, StorageError>)> Drop for Done<T, F> {
    fn drop(&mut self) {
        self.tell(Err(StorageError::Closed));
    }
}
