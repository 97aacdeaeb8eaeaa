//! Languages by file name.

/// The language of a file, or "Other".
pub(crate) fn language(name: &str) -> &'static str {
    match name {
        "Makefile" | "GNUmakefile" => return "Make",
        "Dockerfile" | "Containerfile" => return "Dockerfile",
        "CMakeLists.txt" => return "CMake",
        "Cargo.lock" | "poetry.lock" | "uv.lock" => return "TOML",
        _ => {}
    }
    let Some((_, extension)) = name.rsplit_once('.') else { return "Other" };
    match extension {
        "rs" => "Rust",
        "py" | "pyi" => "Python",
        "js" | "mjs" | "cjs" | "jsx" => "JavaScript",
        "ts" | "mts" | "cts" | "tsx" => "TypeScript",
        "go" => "Go",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hh" | "hpp" => "C++",
        "cs" => "C#",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "swift" => "Swift",
        "zig" => "Zig",
        "rb" => "Ruby",
        "php" => "PHP",
        "lua" => "Lua",
        "ex" | "exs" => "Elixir",
        "erl" | "hrl" => "Erlang",
        "hs" => "Haskell",
        "ml" | "mli" => "OCaml",
        "scala" => "Scala",
        "sh" | "bash" | "zsh" | "fish" => "Shell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "less" => "CSS",
        "vue" | "svelte" => "Web component",
        "wit" => "WIT",
        "wat" | "wast" => "WebAssembly text",
        "proto" => "Protocol Buffers",
        "md" | "markdown" => "Markdown",
        "rst" | "adoc" => "Markup",
        "txt" => "Text",
        "json" | "jsonc" | "json5" => "JSON",
        "yaml" | "yml" => "YAML",
        "toml" => "TOML",
        "xml" | "svg" => "XML",
        "ini" | "cfg" | "conf" => "Configuration",
        "nix" => "Nix",
        "tf" => "Terraform",
        _ => "Other",
    }
}
