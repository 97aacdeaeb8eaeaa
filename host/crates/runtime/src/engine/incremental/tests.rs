//! Builds of a component one after another, as an author makes them.

use super::*;
use crate::engine::artifact;
use crate::engine::profile::{Engines, compile_only};
use futures::FutureExt;
use policy::Metering;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use wasmtime::component::Linker;
use wasmtime::{Engine, Store};

/// Where the memory has something that differs in each build.
const AT: u32 = 70_000;
const FUEL: u64 = 1_000;

/// A component with enough code to be divided. `read` loads four bytes of its memory, executes `more` on them, and returns the
/// result.
fn component(data: &str, more: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
            (core module $m
                (memory 16) (data (i32.const {AT}) "{data}") (data (i32.const 900000) "end")
                (func (export "read") (result i32) (i32.load (i32.const {AT})) {more})
                (func {nops}))
            (core instance $i (instantiate $m))
            (func (export "read") (result u32) (canon lift (core func $i "read"))))"#,
        nops = "nop ".repeat(300 << 10),
    );
    wat::parse_str(text).unwrap()
}

/// An author's machine.
struct Author {
    cache: CompileCache,
    engine: Engine,
    fingerprint: String,
    compiled: Cell<usize>,
}

impl Author {
    fn new(folder: &Path) -> Self {
        let fingerprint = Engines::new().fingerprint(Metering::Fuel).unwrap().to_owned();
        let (cache, engine) = (CompileCache::open(folder).unwrap(), compile_only(Metering::Fuel).unwrap());
        Self { cache, engine, fingerprint, compiled: Cell::new(0) }
    }

    fn compile(&self, component: &[u8]) -> TrustedCode {
        TrustedCode::from_worker(self.engine.precompile_component(component).unwrap())
    }

    /// Builds a component without saving it; returns what it reads, too.
    fn build(&self, component: &[u8]) -> (CompiledCode, String) {
        let compile = |bytes: Cow<'_, [u8]>| {
            self.compiled.update(|count| count + 1);
            std::future::ready(Ok(self.compile(&bytes)))
        };
        let built = build(compile, &self.cache, component, &self.fingerprint).now_or_never().unwrap().unwrap();
        let (read, _) = self.run(&built.code);
        (built, read)
    }

    fn build_and_save(&self, component: &[u8], digest: &str) -> String {
        let (built, read) = self.build(component);
        built.save(&self.cache, digest, &self.fingerprint).unwrap();
        read
    }

    /// Returns what is read, and the fuel that is left.
    fn run(&self, code: &TrustedCode) -> (String, u64) {
        let component = artifact::load(&self.engine, code).unwrap();
        let mut store = Store::new(&self.engine, ());
        store.set_fuel(FUEL).unwrap();
        store.set_epoch_deadline(1);
        let instance = Linker::new(&self.engine).instantiate(&mut store, &component).unwrap();
        let function = instance.get_typed_func::<(), (u32,)>(&mut store, "read").unwrap();
        let (word,) = function.call(&mut store, ()).unwrap();
        (String::from_utf8(word.to_le_bytes().to_vec()).unwrap(), store.get_fuel().unwrap())
    }
}

#[test]
fn a_build_with_another_image_is_not_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let author = Author::new(&folder.path().join("cache"));
    assert_eq!(author.build_and_save(&component("one.", ""), "sha256:1"), "one.");
    let second = component("two.", "");
    assert_eq!(author.build_and_save(&second, "sha256:2"), "two.");
    // The next build is made from the last one: the first may be gone.
    fs::remove_file(folder.path().join(format!("cache/sha256-1-{}.bin", author.fingerprint))).unwrap();
    assert_eq!(author.build_and_save(&component("three, which is longer", ""), "sha256:3"), "thre");
    assert_eq!(author.compiled.get(), 1);
    // The code in the cache does the same as freshly compiled code, for the same fuel.
    let cached = author.cache.code("sha256:2", &author.fingerprint).unwrap();
    assert_eq!(author.run(&cached), author.run(&author.compile(&second)));
}

#[test]
fn other_code_is_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let author = Author::new(&folder.path().join("cache"));
    author.build_and_save(&component("\\01\\00\\00\\00", ""), "sha256:1");
    let changed = component("\\01\\00\\00\\00", "(i32.add (i32.const 0x41414140))");
    assert_eq!(author.build_and_save(&changed, "sha256:2"), "AAAA");
    assert_eq!(author.compiled.get(), 2);
    // Nothing from another engine is used.
    let other = Author { fingerprint: "other".into(), ..Author::new(&folder.path().join("cache")) };
    other.build(&component("two.", ""));
    assert_eq!(other.compiled.get(), 1);
}

#[test]
fn what_is_damaged_or_gone_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let author = Author::new(&cache);
    author.build_and_save(&component("one.", ""), "sha256:1");
    let next = component("two.", "");
    let only = |kind: &str| {
        let paths = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == kind)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].clone()
    };
    for path in [only("bin"), only("note")] {
        let good = fs::read(&path).unwrap();
        let compiled = author.compiled.get();
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, bad).unwrap();
            assert_eq!(author.build(&next).1, "two.");
        }
        fs::write(&path, &good[..good.len() / 2]).unwrap();
        author.build(&next);
        fs::remove_file(&path).unwrap();
        author.build(&next);
        assert_eq!(author.compiled.get() - compiled, 5, "{}", path.display());
        fs::write(&path, good).unwrap();
    }
    let compiled = author.compiled.get();
    author.build(&next);
    assert_eq!(author.compiled.get(), compiled, "all is as it was");
    // Notes with a valid MAC that do not point to an image of this component.
    let note =
        format!("image-{}-{}", DividedComponent::divide(&next).unwrap().name_without_image(), author.fingerprint);
    for image in [0..0, 8..12, 0..usize::MAX, Range { start: usize::MAX, end: 0 }] {
        let wrong = Reusable { digest: "sha256:1".into(), image };
        author.cache.put_note(&note, &serde_json::to_vec(&wrong).unwrap()).unwrap();
        assert_eq!(author.build(&next).1, "two.");
    }
    assert_eq!(author.compiled.get() - compiled, 4);
}

#[test]
fn several_builds_at_once_leave_what_each_has_built() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let build = |text: &str, digest: &str| {
        let author = Author::new(&cache);
        for _ in 0..3 {
            assert_eq!(author.build_and_save(&component(text, ""), digest), text);
            let cached = author.cache.code(digest, &author.fingerprint).unwrap();
            assert_eq!(author.run(&cached).0, text);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| build("one.", "sha256:1"));
        scope.spawn(|| build("two.", "sha256:2"));
    });
}

#[test]
fn an_image_is_found_only_where_it_is_whole_and_alone() {
    let stand_in = *b"an unlikely text of 32 bytes....";
    let code = |times: usize, after: &str| [b"code", &stand_in.repeat(times)[..], after.as_bytes()].concat();
    assert_eq!(find_image(&code(3, "more"), &stand_in, 96), Some(4..100));
    for times in [0, 2, 4] {
        assert_eq!(find_image(&code(times, "more"), &stand_in, 96), None, "{times}");
    }
    let twice = [code(3, ""), code(1, "")].concat();
    assert_eq!(find_image(&twice, &stand_in, 96), None);
    assert_eq!(find_image(&stand_in, &stand_in, usize::MAX), None);
}
