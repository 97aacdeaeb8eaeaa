//! Sealed credentials by principal and connection. Their content is not interpreted here.
//!
//! Several processes of one user may share this file.

use super::open::make_private;
use crate::files::create_private_folder;
use crate::sync::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) const FILE: &str = "connections.db";
/// How long to wait for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(5);

const TABLE: &str = "CREATE TABLE IF NOT EXISTS token (
    principal TEXT NOT NULL,
    connection TEXT NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (principal, connection)
) STRICT";

/// Credentials cannot be stored or read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum TokenStoreError {
    #[error(
        "the state folder {path} cannot be used: {problem}; set PORTCULLIS_STATE or server.state to a folder of your own"
    )]
    Folder { path: PathBuf, problem: String },
    #[error("the credentials in {path} cannot be used: {problem}")]
    Sql { path: PathBuf, problem: String },
}

/// The open file. Clones share it.
#[derive(Clone)]
pub struct TokenStore {
    connection: Arc<Mutex<Connection>>,
    path: PathBuf,
}

impl TokenStore {
    /// Opens the file in the state folder and creates both if they are missing, private to this user. Blocks.
    pub fn open(folder: &Path) -> Result<Self, TokenStoreError> {
        let unusable =
            |error: std::io::Error| TokenStoreError::Folder { path: folder.to_owned(), problem: error.to_string() };
        create_private_folder(folder).map_err(unusable)?;
        let path = folder.join(FILE);
        make_private(&path).map_err(unusable)?;
        let opened = Connection::open(&path).and_then(|connection| {
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "trusted_schema", false)?;
            // Avoids temporary files in a shared folder.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            // Removed credentials are overwritten.
            connection.pragma_update(None, "secure_delete", true)?;
            connection.execute_batch(TABLE)?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => Ok(Self { connection: Arc::new(Mutex::new(connection)), path }),
            Err(error) => Err(TokenStoreError::Sql { path, problem: error.to_string() }),
        }
    }

    pub async fn get(&self, principal: &str, connection: &str) -> Result<Option<Vec<u8>>, TokenStoreError> {
        let (principal, name) = (principal.to_owned(), connection.to_owned());
        self.run(move |connection| {
            let sql = "SELECT sealed FROM token WHERE principal = ?1 AND connection = ?2";
            connection.prepare_cached(sql)?.query_row(params![principal, name], |row| row.get(0)).optional()
        })
        .await
    }

    /// Stores a credential and replaces any earlier one.
    pub async fn put(&self, principal: &str, connection: &str, sealed: Vec<u8>) -> Result<(), TokenStoreError> {
        let (principal, name) = (principal.to_owned(), connection.to_owned());
        self.run(move |connection| {
            let sql = "INSERT OR REPLACE INTO token (principal, connection, sealed) VALUES (?1, ?2, ?3)";
            connection.prepare_cached(sql)?.execute(params![principal, name, sealed]).map(|_| ())
        })
        .await
    }

    /// Removes this credential, if it is still the stored one.
    pub async fn remove(&self, principal: &str, connection: &str, sealed: Vec<u8>) -> Result<(), TokenStoreError> {
        let (principal, name) = (principal.to_owned(), connection.to_owned());
        self.run(move |connection| {
            let sql = "DELETE FROM token WHERE principal = ?1 AND connection = ?2 AND sealed = ?3";
            connection.prepare_cached(sql)?.execute(params![principal, name, sealed]).map(|_| ())
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, TokenStoreError> {
        let connection = self.connection.clone();
        // If the work panics, SQLite rolls the transaction back.
        let done = tokio::task::spawn_blocking(move || work(&connection.lock()));
        let fail = |problem: String| TokenStoreError::Sql { path: self.path.clone(), problem };
        match done.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(fail(error.to_string())),
            Err(_) => Err(fail("it broke off".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn keeps_each_apart_across_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let tokens = TokenStore::open(&state).unwrap();
        tokens.put("key:alice", "github", b"a".to_vec()).await.unwrap();
        tokens.put("key:alice", "github", b"b".to_vec()).await.unwrap();
        tokens.put("key:bob", "github", b"c".to_vec()).await.unwrap();
        drop(tokens);
        let tokens = TokenStore::open(&state).unwrap();
        assert_eq!(tokens.get("key:alice", "github").await.unwrap().unwrap(), b"b");
        assert_eq!(tokens.get("key:bob", "github").await.unwrap().unwrap(), b"c");
        assert_eq!(tokens.get("key:alice", "gitlab").await.unwrap(), None);
        tokens.remove("key:alice", "github", b"a".to_vec()).await.unwrap();
        assert!(tokens.get("key:alice", "github").await.unwrap().is_some(), "another one by now");
        tokens.remove("key:alice", "github", b"b".to_vec()).await.unwrap();
        assert_eq!(tokens.get("key:alice", "github").await.unwrap(), None);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&state), mode(&state.join("connections.db"))), (0o700, 0o600));
    }

    #[test]
    fn refuses_a_folder_that_others_write_to() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(TokenStore::open(folder.path()).is_err());
    }
}
