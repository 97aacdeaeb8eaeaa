//! Custom sections, as the SDK would embed them.

/// Embeds the manifest: `manifest!(r#"{"name": ...}"#)`.
#[macro_export]
macro_rules! manifest {
    ($json:literal) => {
        $crate::stamp!("portcullis:manifest", $json);
    };
}

/// Embeds any custom section with any text.
#[macro_export]
macro_rules! stamp {
    ($section:literal, $text:literal) => {
        const _: () = {
            #[used]
            #[unsafe(link_section = $section)]
            static STAMP: [u8; $text.len()] = {
                let mut bytes = [0; $text.len()];
                bytes.copy_from_slice($text.as_bytes());
                bytes
            };
        };
    };
}
