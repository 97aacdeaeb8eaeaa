//! What the thread that owns a database is asked to do.

use super::error::StorageError;
use crate::durable::Strength;
use rusqlite::Connection;
use std::marker::PhantomData;

/// A part of a transaction.
pub(super) trait Job: Send {
    /// How much its change must survive; none if it does nothing in the database.
    fn strength(&self) -> Option<Strength>;

    /// Runs it and keeps its result. May run again after its transaction was rolled back.
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;

    /// Reports, once the transaction is committed or has failed.
    fn finish(self: Box<Self>, failed: Option<&StorageError>);
}

/// A job that changes or reads something.
pub(super) struct DatabaseJob<T, J, F: FnOnce(Result<T, StorageError>)> {
    strength: Strength,
    job: J,
    result: Option<T>,
    done: Done<T, F>,
}

impl<T, J, F: FnOnce(Result<T, StorageError>)> DatabaseJob<T, J, F> {
    pub(super) fn new(strength: Strength, job: J, done: F) -> Self {
        Self { strength, job, result: None, done: Done(Some(done), PhantomData) }
    }
}

impl<T, J, F> Job for DatabaseJob<T, J, F>
where
    T: Send,
    J: FnMut(&Connection) -> rusqlite::Result<T> + Send,
    F: FnOnce(Result<T, StorageError>) + Send,
{
    fn strength(&self) -> Option<Strength> {
        Some(self.strength)
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

/// A job that does something once everything before it is done.
pub(super) struct Afterwards<F: FnOnce(Result<(), StorageError>)>(Done<(), F>);

impl<F: FnOnce(Result<(), StorageError>)> Afterwards<F> {
    pub(super) fn new(done: F) -> Self {
        Self(Done(Some(done), PhantomData))
    }
}

impl<F: FnOnce(Result<(), StorageError>) + Send> Job for Afterwards<F> {
    fn strength(&self) -> Option<Strength> {
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
