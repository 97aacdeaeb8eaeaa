//! Parquet files as the sandbox can open them: its files cannot be cloned, as the library does with `std::fs::File`.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use portcullis_guest::ToolError;
use portcullis_guest::filesystem::explain;

/// Opened anew for each part that is read.
pub(crate) struct ParquetFile {
    path: PathBuf,
    length: u64,
}

impl ParquetFile {
    pub(crate) fn open(path: &Path) -> std::result::Result<Self, ToolError> {
        let metadata = File::open(path).and_then(|file| file.metadata()).map_err(|error| explain(path, &error))?;
        Ok(Self { path: path.to_owned(), length: metadata.len() })
    }
}

impl Length for ParquetFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for ParquetFile {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(file))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        // What the file claims of its parts may be larger than itself.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes from {start} are beyond its end")));
        }
        let mut part = vec![0; length];
        self.get_read(start)?.read_exact(&mut part)?;
        Ok(part.into())
    }
}
