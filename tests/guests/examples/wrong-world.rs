//! A component that is no plugin: exports a function of its own.

wit_bindgen::generate!({ inline: "package someone:else; world other { export greet: func() -> string; }" });

struct Other;

impl Guest for Other {
    fn greet() -> String {
        "hello".to_owned()
    }
}

export!(Other);
