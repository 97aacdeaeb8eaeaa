//! Answers with a string that is none.

guests::guest! {
    fn run(args) {
        let bytes = b"before \xff\xfe after".to_vec();
        // SAFETY: none. An author who writes C would not even notice.
        Ok(unsafe { String::from_utf8_unchecked(bytes) }.into())
    }
}
