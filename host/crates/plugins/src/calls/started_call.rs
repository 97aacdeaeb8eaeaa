//! A call that was admitted.

use crate::calls::slots::admission::AdmittedCall;
use runtime::engine::{Allowance, InstancePermit};
use runtime::imports::CallImports;

/// A call that may run.
pub(super) struct StartedCall {
    pub(super) admitted: AdmittedCall,
    pub(super) instance: InstancePermit,
    pub(super) imports: Box<CallImports>,
    pub(super) allowance: Allowance,
}
