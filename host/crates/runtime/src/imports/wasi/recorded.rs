//! The forms in which a journal keeps what `wasi:filesystem` returns to a guest.

use super::super::streams::Data;
use serde::{Deserialize, Serialize};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue,
};

/// All error codes in the order of the interface; a journal keeps the index in this list.
const CODES: [ErrorCode; 37] = [
    ErrorCode::Access,
    ErrorCode::WouldBlock,
    ErrorCode::Already,
    ErrorCode::BadDescriptor,
    ErrorCode::Busy,
    ErrorCode::Deadlock,
    ErrorCode::Quota,
    ErrorCode::Exist,
    ErrorCode::FileTooLarge,
    ErrorCode::IllegalByteSequence,
    ErrorCode::InProgress,
    ErrorCode::Interrupted,
    ErrorCode::Invalid,
    ErrorCode::Io,
    ErrorCode::IsDirectory,
    ErrorCode::Loop,
    ErrorCode::TooManyLinks,
    ErrorCode::MessageSize,
    ErrorCode::NameTooLong,
    ErrorCode::NoDevice,
    ErrorCode::NoEntry,
    ErrorCode::NoLock,
    ErrorCode::InsufficientMemory,
    ErrorCode::InsufficientSpace,
    ErrorCode::NotDirectory,
    ErrorCode::NotEmpty,
    ErrorCode::NotRecoverable,
    ErrorCode::Unsupported,
    ErrorCode::NoTty,
    ErrorCode::NoSuchDevice,
    ErrorCode::Overflow,
    ErrorCode::NotPermitted,
    ErrorCode::Pipe,
    ErrorCode::ReadOnly,
    ErrorCode::InvalidSeek,
    ErrorCode::TextFileBusy,
    ErrorCode::CrossDevice,
];

const TYPES: [DescriptorType; 8] = [
    DescriptorType::Unknown,
    DescriptorType::BlockDevice,
    DescriptorType::CharacterDevice,
    DescriptorType::Directory,
    DescriptorType::Fifo,
    DescriptorType::SymbolicLink,
    DescriptorType::RegularFile,
    DescriptorType::Socket,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Code(usize);

impl From<ErrorCode> for Code {
    fn from(code: ErrorCode) -> Self {
        Self(CODES.iter().position(|known| *known == code).unwrap_or(usize::MAX))
    }
}

impl From<Code> for ErrorCode {
    fn from(code: Code) -> Self {
        CODES.get(code.0).copied().unwrap_or(Self::Io)
    }
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Kind(usize);

impl From<DescriptorType> for Kind {
    fn from(kind: DescriptorType) -> Self {
        Self(TYPES.iter().position(|known| *known == kind).unwrap_or_default())
    }
}

impl From<Kind> for DescriptorType {
    fn from(kind: Kind) -> Self {
        TYPES.get(kind.0).copied().unwrap_or(Self::Unknown)
    }
}

const FLAGS: [DescriptorFlags; 6] = [
    DescriptorFlags::READ,
    DescriptorFlags::WRITE,
    DescriptorFlags::FILE_INTEGRITY_SYNC,
    DescriptorFlags::DATA_INTEGRITY_SYNC,
    DescriptorFlags::REQUESTED_WRITE_SYNC,
    DescriptorFlags::MUTATE_DIRECTORY,
];

#[derive(Serialize, Deserialize)]
pub(super) struct Flags([bool; 6]);

impl From<DescriptorFlags> for Flags {
    fn from(flags: DescriptorFlags) -> Self {
        Self(FLAGS.map(|flag| flags.contains(flag)))
    }
}

impl From<Flags> for DescriptorFlags {
    fn from(Flags(set): Flags) -> Self {
        FLAGS.into_iter().zip(set).filter(|(_, set)| *set).fold(Self::empty(), |all, (flag, _)| all | flag)
    }
}

type Time = Option<(u64, u32)>;

#[derive(Serialize, Deserialize)]
pub(super) struct Stat {
    kind: Kind,
    links: u64,
    size: u64,
    /// Accessed, modified, status changed.
    times: [Time; 3],
}

impl From<DescriptorStat> for Stat {
    fn from(stat: DescriptorStat) -> Self {
        let times = [stat.data_access_timestamp, stat.data_modification_timestamp, stat.status_change_timestamp];
        let times = times.map(|time| time.map(|time| (time.seconds, time.nanoseconds)));
        Self { kind: stat.type_.into(), links: stat.link_count, size: stat.size, times }
    }
}

impl From<Stat> for DescriptorStat {
    fn from(stat: Stat) -> Self {
        let times = stat.times.map(|time| time.map(|(seconds, nanoseconds)| Datetime { seconds, nanoseconds }));
        let [data_access_timestamp, data_modification_timestamp, status_change_timestamp] = times;
        Self {
            type_: stat.kind.into(),
            link_count: stat.links,
            size: stat.size,
            data_access_timestamp,
            data_modification_timestamp,
            status_change_timestamp,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct MetadataHash(u64, u64);

impl From<MetadataHashValue> for MetadataHash {
    fn from(hash: MetadataHashValue) -> Self {
        Self(hash.lower, hash.upper)
    }
}

impl From<MetadataHash> for MetadataHashValue {
    fn from(MetadataHash(lower, upper): MetadataHash) -> Self {
        Self { lower, upper }
    }
}

/// Bytes of a file, and whether it ended.
#[derive(Serialize, Deserialize)]
pub(super) struct Piece(Data, bool);

impl From<(Vec<u8>, bool)> for Piece {
    fn from((bytes, ended): (Vec<u8>, bool)) -> Self {
        Self(Data(bytes), ended)
    }
}

impl From<Piece> for (Vec<u8>, bool) {
    fn from(Piece(bytes, ended): Piece) -> Self {
        (bytes.0, ended)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecordedEntry(Option<(Kind, String)>);

impl From<Option<DirectoryEntry>> for RecordedEntry {
    fn from(entry: Option<DirectoryEntry>) -> Self {
        Self(entry.map(|entry| (entry.type_.into(), entry.name)))
    }
}

impl From<RecordedEntry> for Option<DirectoryEntry> {
    fn from(RecordedEntry(entry): RecordedEntry) -> Self {
        entry.map(|(kind, name)| DirectoryEntry { type_: kind.into(), name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_kinds_and_flags_come_back_as_they_were() {
        for code in CODES {
            assert_eq!(ErrorCode::from(Code::from(code)), code);
        }
        for kind in TYPES {
            assert_eq!(DescriptorType::from(Kind::from(kind)), kind);
        }
        let flags = DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY;
        assert_eq!(DescriptorFlags::from(Flags::from(flags)), flags);
    }
}
