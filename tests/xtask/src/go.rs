//! Go: plugins written with `guest-sdk/go`, compiled by the Go of the machine.
