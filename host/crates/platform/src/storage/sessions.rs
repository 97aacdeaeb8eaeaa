//! Sessions: how many there may be, and the client's handshake.

use super::session_store::SessionStore;
use super::worker::PendingResult;
use rusqlite::{Connection, OptionalExtension};

/// How many sessions are suggested for eviction.
const CANDIDATES: u32 = 16;

/// How many sessions there may be. Each takes memory while it is used, and afterwards space in the file.
#[derive(Debug, Clone, Copy)]
pub struct SessionQuota {
    /// For all principals together.
    pub all: u32,
    /// For one principal, so that it cannot lock out others.
    pub own: u32,
}

/// Whether a session was created.
#[derive(Debug, PartialEq)]
pub enum SessionAdmission {
    Admitted,
    /// There are too many sessions. These may be evicted, those first that have been idle for longest. They belong to the
    /// principal with the most sessions, or to the one that asks.
    Full(Vec<StoredSession>),
}

/// A session and its principal.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSession {
    pub id: String,
    pub principal: String,
}

impl SessionStore {
    /// Creates a session of a principal, if the quota allows it.
    pub fn admit(&self, id: String, principal: String, quota: SessionQuota) -> PendingResult<SessionAdmission> {
        let now = self.now();
        self.worker.ask(move |connection| admit(connection, &id, &principal, quota, now))
    }

    /// Stores the client's handshake; from now on the session survives a restart.
    pub fn keep_handshake(&self, id: String, handshake: String) -> PendingResult<()> {
        self.worker.ask(move |connection| {
            let sql = "UPDATE session SET handshake = ?2 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute((&id, &handshake)).map(|_| ())
        })
    }

    /// The handshake of the session with this id and principal.
    pub fn handshake(&self, id: String, principal: String) -> PendingResult<Option<String>> {
        let now = self.now();
        self.worker.ask(move |connection| {
            let sql = "UPDATE session SET used = ?3 WHERE id = ?1 AND principal = ?2 AND handshake IS NOT NULL RETURNING handshake";
            connection.prepare_cached(sql)?.query_row((&id, &principal, now), |row| row.get(0)).optional()
        })
    }

    /// Marks sessions as used.
    pub fn touch(&self, ids: Vec<String>) -> PendingResult<()> {
        let now = self.now();
        self.worker.ask(move |connection| {
            let mut update = connection.prepare_cached("UPDATE session SET used = ?2 WHERE id = ?1")?;
            ids.iter().try_for_each(|id| update.execute((id, now)).map(|_| ()))
        })
    }

    /// Removes a session with its streams. False if there is none with this id and principal.
    pub fn forget(&self, id: String, principal: String) -> PendingResult<bool> {
        self.worker.ask(move |connection| {
            let sql = "DELETE FROM session WHERE id = ?1 AND principal = ?2";
            connection.prepare_cached(sql)?.execute((&id, &principal)).map(|removed| removed > 0)
        })
    }
}

fn admit(
    connection: &Connection,
    id: &str,
    principal: &str,
    quota: SessionQuota,
    now: i64,
) -> rusqlite::Result<SessionAdmission> {
    let count = "SELECT count(*), count(*) FILTER (WHERE principal = ?1) FROM session";
    let (all, own): (u32, u32) =
        connection.prepare_cached(count)?.query_row([principal], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if all >= quota.all || own >= quota.own {
        let sql =
            "SELECT principal, count(*) AS many FROM session GROUP BY principal ORDER BY many DESC, principal LIMIT 1";
        let found = connection.prepare_cached(sql)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (largest, many): (String, u32) = found.unwrap_or_default();
        // A principal that has as many sessions as any other must evict one of its own.
        let loser = if own >= quota.own || own >= many { principal.to_owned() } else { largest };
        let oldest = "SELECT id FROM session WHERE principal = ?1 ORDER BY used LIMIT ?2";
        let mut oldest = connection.prepare_cached(oldest)?;
        let found = oldest
            .query_map((&loser, CANDIDATES), |row| Ok(StoredSession { id: row.get(0)?, principal: loser.clone() }))?;
        return Ok(SessionAdmission::Full(found.collect::<rusqlite::Result<_>>()?));
    }
    let sql = "INSERT INTO session (id, principal, used) VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute((id, principal, now))?;
    Ok(SessionAdmission::Admitted)
}
