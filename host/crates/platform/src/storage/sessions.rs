//! Sessions: who may have how many, and what a client said when it came.

use super::{Pending, Storage};
use rusqlite::{Connection, OptionalExtension};

/// Sessions named as candidates for making room.
const CANDIDATES: u32 = 16;

/// How many sessions there may be: each holds memory while it is used, and a place in the file afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// Of all principals together.
    pub all: u32,
    /// Of one, so that one cannot lock out all others.
    pub own: u32,
}

/// Whether there is room for a session.
#[derive(Debug, PartialEq)]
pub enum Admission {
    /// It is noted.
    Admitted,
    /// There is none. These of the same principal have been idle longest, longest first.
    Full(Vec<String>),
}

impl Storage {
    /// Makes room for a new session of a principal.
    pub fn admit(&self, id: String, principal: String, quota: Quota) -> Pending<Admission> {
        let now = self.now();
        self.worker.ask(move |connection| admit(connection, &id, &principal, quota, now))
    }

    /// Keeps what the client said when it came; from now on the session survives a restart.
    pub fn keep_handshake(&self, id: String, handshake: String) -> Pending<()> {
        self.worker.ask(move |connection| {
            let sql = "UPDATE session SET handshake = ?2 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((id, handshake)).map(|_| ())
        })
    }

    /// What the client of a session said, if there is one of that id and principal.
    pub fn handshake(&self, id: String, principal: String) -> Pending<Option<String>> {
        let now = self.now();
        self.worker.ask(move |connection| {
            let sql = "UPDATE session SET used = ?3 WHERE id = ?1 AND principal = ?2 AND handshake IS NOT NULL RETURNING handshake";
            connection.prepare_cached(sql)?.query_row((id, principal, now), |row| row.get(0)).optional()
        })
    }

    /// These sessions are in use.
    pub fn touch(&self, ids: Vec<String>) -> Pending<()> {
        let now = self.now();
        self.worker.ask(move |connection| {
            let mut update = connection.prepare_cached("UPDATE session SET used = ?2 WHERE id = ?1")?;
            ids.iter().try_for_each(|id| update.execute((id, now)).map(|_| ()))
        })
    }

    /// Removes a session with everything of it. False when there is none of that id and principal.
    pub fn forget(&self, id: String, principal: String) -> Pending<bool> {
        self.worker.ask(move |connection| {
            let sql = "DELETE FROM session WHERE id = ?1 AND principal = ?2";
            connection.prepare_cached(sql)?.execute((id, principal)).map(|removed| removed > 0)
        })
    }
}

fn admit(connection: &Connection, id: &str, principal: &str, quota: Quota, now: i64) -> rusqlite::Result<Admission> {
    let count = "SELECT count(*), count(*) FILTER (WHERE principal = ?1) FROM session";
    let (all, own): (u32, u32) =
        connection.prepare_cached(count)?.query_row([principal], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if all >= quota.all || own >= quota.own {
        let oldest = "SELECT id FROM session WHERE principal = ?1 ORDER BY used LIMIT ?2";
        let mut oldest = connection.prepare_cached(oldest)?;
        let ids = oldest.query_map((principal, CANDIDATES), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        return Ok(Admission::Full(ids));
    }
    let sql = "INSERT INTO session (id, principal, used) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute((id, principal, now))?;
    Ok(Admission::Admitted)
}
