//! How a function of `wasi:filesystem` ends: for the guest, and in its span.

use super::super::import_span::ImportSpan;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Converts error codes for the guest; any other error is a trap.
pub(super) fn to_guest<R>(result: FsResult<R>) -> wasmtime::Result<Result<R, ErrorCode>> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => Ok(Err(error.downcast()?)),
    }
}

pub(super) fn finish<R>(span: ImportSpan, result: &Result<R, ErrorCode>) {
    span.finish(match result {
        Ok(_) => "ok",
        Err(ErrorCode::NotPermitted | ErrorCode::ReadOnly | ErrorCode::Access) => "denied",
        Err(ErrorCode::InsufficientSpace) => "full",
        Err(ErrorCode::NoEntry) => "not-found",
        Err(_) => "failed",
    });
}
