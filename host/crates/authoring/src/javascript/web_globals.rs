//! Global names that the engine lacks and that people expect, such as `URL`. A component has those that its plugin or a package mentions.

/// Modules in the SDK's folder `globals`, and the names that they define.
const GLOBALS: [(&str, &[&str]); 12] = [
    ("abort", &["AbortController", "AbortSignal"]),
    ("buffer", &["Buffer"]),
    ("crypto", &["crypto"]),
    ("fetch", &["fetch", "Headers", "Request", "Response"]),
    ("forms", &["Blob", "File", "FormData", "blob"]),
    ("intl", &LOCALE),
    ("process", &["process"]),
    // Of Math.
    ("random", &["random"]),
    ("text", &["TextDecoder", "TextEncoder"]),
    ("structured-clone", &["structuredClone"]),
    ("timers", &["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"]),
    ("url", &["URL", "URLSearchParams"]),
];

/// What depends on a locale.
const LOCALE: [&str; 7] = [
    "Intl",
    "localeCompare",
    "toLocaleDateString",
    "toLocaleLowerCase",
    "toLocaleString",
    "toLocaleTimeString",
    "toLocaleUpperCase",
];

/// These may be methods of any value, and so may those of `LOCALE`.
const METHODS: [&str; 2] = ["blob", "random"];

/// Objects whose members are the globals. A member of another object with such a name is not the global.
const GLOBAL_OBJECTS: [&str; 4] = ["globalThis", "global", "self", "window"];

/// The modules that code needs. A word in a string counts, too, which only makes the component larger than necessary.
pub(crate) fn needed(code: &str) -> Vec<&'static str> {
    let mentioned = |names: &[&str]| names.iter().any(|name| mentions(code, name));
    GLOBALS.into_iter().filter(|(_, names)| mentioned(names)).map(|(module, _)| module).collect()
}

fn mentions(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        if before.ends_with(is_of_word) || after.starts_with(is_of_word) {
            return false;
        }
        match before.strip_suffix('.') {
            Some(_) if METHODS.contains(&name) || LOCALE.contains(&name) => true,
            Some(object) if !object.ends_with("..") => {
                let object = object.trim_end_matches('?');
                GLOBAL_OBJECTS.iter().any(|global| object.ends_with(global))
            }
            _ => true,
        }
    })
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_mentions_is_needed() {
        for (code, modules) in [
            ("new URL(x)", &["url"][..]),
            ("const {Request:a,Response:b}=c.global", &["fetch"]),
            ("globalThis.process?.env", &["process"]),
            ("globalThis?.crypto.subtle", &["crypto"]),
            ("const{randomUUID:a}=crypto", &["crypto"]),
            ("const{crypto:a}=globalThis", &["crypto"]),
            ("globalThis[\"crypto\"]", &["crypto"]),
            ("Math.random()", &["random"]),
            ("const{floor:a,random:b}=Math", &["random"]),
            ("f(...Buffer.from(x))", &["buffer"]),
            ("when.toLocaleDateString(\"en-GB\")", &["intl"]),
            ("a.localeCompare(b)", &["intl"]),
            ("a.toLocaleUpperCase(b)", &["intl"]),
            ("typeof AbortSignal<\"u\"?setTimeout(f,1):0", &["abort", "timers"]),
            ("x.process(y.URL,myURL,URLs,$fetch,fetch_)", &[]),
        ] {
            assert_eq!(needed(code), modules, "{code}");
        }
    }
}
