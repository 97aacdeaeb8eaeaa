//! Components that are small to send and large to validate, compile or start, each with its expected refusal.

use suite::forge::{behaviour, custom, number, plugin, repeated, section, sections};

/// A bomb: its description, the text that the refusal must contain, and its bytes.
pub(super) struct Bomb {
    pub(super) what: &'static str,
    pub(super) words: &'static str,
    pub(super) bytes: fn(&Base) -> Vec<u8>,
}

/// A valid plugin to which bombs are appended.
pub(super) struct Base(Vec<u8>);

impl Base {
    pub(super) fn new() -> Self {
        Self(plugin("(func $run)"))
    }

    fn and(&self, more: &[u8]) -> Vec<u8> {
        [&*self.0, more].concat()
    }

    /// Appends a module with these sections.
    fn module(&self, sections: &[Vec<u8>]) -> Vec<u8> {
        self.and(&section(1, &[b"\0asm\x01\0\0\0", &*sections.concat()].concat()))
    }

    /// Appends a module with one function, given its local declarations and its code.
    fn function(&self, locals: &[u8], code: &[u8]) -> Vec<u8> {
        let body = [locals, code, &[END]].concat();
        self.module(&[
            many(1, 1, NOTHING),
            many(3, 1, &[0]),
            section(10, &[&number(1), &*number(body.len() as u32), &body].concat()),
        ])
    }

    /// Appends a function of so many blocks inside one another. Some 700,000 are as long as a function may be.
    pub(super) fn blocks(&self, number: usize) -> Vec<u8> {
        self.function(&[0], &[BLOCK.repeat(number), vec![END; number]].concat())
    }

    /// Appends a component with these sections.
    fn component(&self, sections: &[Vec<u8>]) -> Vec<u8> {
        self.and(&section(COMPONENT, &[COMPONENT_HEAD, &*sections.concat()].concat()))
    }
}

const COMPONENT_HEAD: &[u8] = b"\0asm\x0d\0\x01\0";
const COMPONENT: u8 = 4;
const TYPES: u8 = 7;
const END: u8 = 0x0b;
/// The function type without parameters and results.
const NOTHING: &[u8] = &[0x60, 0, 0];
/// `(block`.
const BLOCK: &[u8] = &[0x02, 0x40];
/// A module with one memory of 64 KiB.
const MEMORY: &[u8] = b"\0asm\x01\0\0\0\x05\x03\x01\0\x01";

/// A type index, encoded as a signed LEB128 number.
fn index(place: u32) -> Vec<u8> {
    let mut bytes = number(place);
    if let Some(last) = bytes.last_mut().filter(|last| **last & 0x40 != 0) {
        *last |= 0x80;
        bytes.push(0);
    }
    bytes
}

/// A section that repeats one item.
fn many(id: u8, times: u32, item: &[u8]) -> Vec<u8> {
    section(id, &[number(times), item.repeat(times as usize)].concat())
}

/// A section with distinct items.
fn each(id: u8, times: u32, item: impl FnMut(u32) -> Vec<u8>) -> Vec<u8> {
    section(id, &[number(times), (0..times).flat_map(item).collect()].concat())
}

/// A distinct name for each number, in WebAssembly's encoding.
fn name(number: u32) -> Vec<u8> {
    let text = format!("n{number}");
    [&[text.len() as u8], text.as_bytes()].concat()
}

/// A component type section with one type that has `times` named parts of this form.
fn named(kind: u8, times: u32, part: &[u8]) -> Vec<u8> {
    let parts = (0..times).flat_map(|number| [&name(number), part].concat());
    section(TYPES, &[vec![1, kind], number(times), parts.collect()].concat())
}

/// Nested components.
fn nested(depth: usize, innermost: &[u8]) -> Vec<u8> {
    (0..depth).fold(innermost.to_vec(), |inner, _| [COMPONENT_HEAD, &section(COMPONENT, &inner)].concat())
}

/// Nested components that each instantiate their inner component `times` times; the innermost has a module with a
/// memory.
fn multiplied(levels: usize, times: u32) -> Vec<u8> {
    let inner = [COMPONENT_HEAD, &section(1, MEMORY), &many(2, 1, &[0, 0, 0])].concat();
    (0..levels)
        .fold(inner, |inner, _| [COMPONENT_HEAD, &section(COMPONENT, &inner), &many(5, times, &[0, 0, 0])].concat())
}

pub(super) const BOMBS: &[Bomb] = &[
    Bomb {
        what: "3 MiB of code in one function",
        words: "bytes in one function",
        bytes: |base| base.function(&[0], &[1; 3 << 20]),
    },
    Bomb {
        what: "three million jump targets",
        words: "bytes in one function",
        bytes: |base| {
            let table = [&[0x41, 0, 0x0e], &*number(3_000_000), &[0; 3_000_001]].concat();
            base.function(&[0], &[BLOCK, &table, &[END]].concat())
        },
    },
    Bomb {
        what: "50,000 locals",
        words: "locals in one function",
        bytes: |base| base.function(&[&[1], &*number(50_000), &[0x7e]].concat(), &[]),
    },
    Bomb {
        what: "30,000 vectors",
        words: "locals in one function",
        bytes: |base| base.function(&[&[1], &*number(30_000), &[0x7b]].concat(), &[]),
    },
    Bomb {
        what: "four billion locals",
        words: "locals in one function",
        bytes: |base| base.function(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e], &[]),
    },
    Bomb {
        what: "a quarter of a million functions",
        words: "functions, more than",
        bytes: |base| base.module(&[many(1, 1, NOTHING), many(3, 250_000, &[0]), many(10, 250_000, &[2, 0, END])]),
    },
    Bomb {
        what: "400,000 types",
        words: "globals and segments",
        bytes: |base| base.module(&[many(1, 400_000, NOTHING)]),
    },
    Bomb {
        what: "400,000 imports",
        words: "globals and segments",
        bytes: |base| {
            base.module(&[many(1, 1, NOTHING), each(2, 400_000, |n| [&[1, b'm'], &*name(n), &[0, 0]].concat())])
        },
    },
    Bomb {
        what: "400,000 exports",
        words: "globals and segments",
        bytes: |base| {
            let exports = each(7, 400_000, |number| [&*name(number), &[0, 0]].concat());
            base.module(&[many(1, 1, NOTHING), many(3, 1, &[0]), exports, many(10, 1, &[2, 0, END])])
        },
    },
    Bomb {
        what: "400,000 globals",
        words: "globals and segments",
        bytes: |base| base.module(&[many(6, 400_000, &[0x7f, 1, 0x41, 0, END])]),
    },
    Bomb {
        what: "400,000 element segments",
        words: "globals and segments",
        bytes: |base| base.module(&[many(9, 400_000, &[1, 0, 0])]),
    },
    Bomb {
        what: "400,000 data segments",
        words: "globals and segments",
        bytes: |base| base.module(&[many(11, 400_000, &[1, 0])]),
    },
    Bomb {
        what: "101 tables",
        words: "not a valid component",
        bytes: |base| base.module(&[many(4, 101, &[0x70, 0, 1])]),
    },
    Bomb { what: "101 memories", words: "not a valid component", bytes: |base| base.module(&[many(5, 101, &[0, 1])]) },
    Bomb { what: "a gigabyte of memory, at once", words: "exceeds the limit of", bytes: |_| behaviour("huge-memory") },
    Bomb { what: "65 MiB of nothing", words: "64 MiB", bytes: |base| base.and(&custom("x", &vec![0; 65 << 20])) },
    Bomb {
        what: "65 MiB of names of functions",
        words: "64 MiB",
        bytes: |base| {
            let names = each(1, 70_000, |n| [&*number(n), &number(1_000), &[b'n'; 1_000]].concat());
            base.module(&[custom("name", &names)])
        },
    },
    Bomb {
        what: "components inside one another, 100 deep",
        words: "inside one another",
        bytes: |base| base.component(&[nested(100, COMPONENT_HEAD)[8..].to_vec()]),
    },
    Bomb {
        what: "300 modules",
        words: "nested modules",
        bytes: |base| base.and(&section(1, &MEMORY[..8]).repeat(300)),
    },
    Bomb {
        what: "ten thousand instances, in instances of instances",
        words: "core module instances",
        bytes: |base| {
            let inside = sections(&base.0).into_iter().filter(|kind| *kind == COMPONENT).count();
            let times = many(5, 100, &[0, inside as u8, 0]);
            base.and(&[section(COMPONENT, &multiplied(1, 100)), times].concat())
        },
    },
    Bomb {
        what: "100 instances with a memory each",
        words: "101 core module instances",
        bytes: |base| repeated(&base.0, 100),
    },
    Bomb {
        what: "60,000 aliases",
        words: "aliases",
        bytes: |base| base.component(&[many(TYPES, 1, &[0x7f]), many(6, 60_000, &[3, 2, 0, 0])]),
    },
    Bomb {
        what: "60,000 component types",
        words: "component types",
        bytes: |base| base.component(&[many(TYPES, 60_000, &[0x7f])]),
    },
    Bomb {
        what: "60,000 resources",
        words: "component types",
        bytes: |base| base.component(&[many(TYPES, 60_000, &[0x3f, 0x7f, 0])]),
    },
    Bomb {
        what: "a tuple of two of the one before, forty times",
        words: "not a valid component",
        bytes: |base| {
            let pair = |n: u32| if n == 0 { vec![0x7d] } else { [&[0x6f, 2], &*index(n - 1), &*index(n - 1)].concat() };
            base.component(&[each(TYPES, 41, pair)])
        },
    },
    Bomb {
        what: "a list of a list, 200 deep",
        words: "not a valid component",
        bytes: |base| {
            let list = |n: u32| if n == 0 { vec![0x7d] } else { [&[0x70], &*index(n - 1)].concat() };
            base.component(&[each(TYPES, 200, list)])
        },
    },
    Bomb {
        what: "a record of 20,000 fields",
        words: "not a valid component",
        bytes: |base| base.component(&[named(0x72, 20_000, &[0x7d])]),
    },
    Bomb {
        what: "a variant of 20,000 cases",
        words: "not a valid component",
        bytes: |base| base.component(&[named(0x71, 20_000, &[0, 0])]),
    },
    Bomb {
        what: "an enum of 20,000 cases",
        words: "not a valid component",
        bytes: |base| base.component(&[named(0x6d, 20_000, &[])]),
    },
    Bomb {
        what: "2,000 flags",
        words: "not a valid component",
        bytes: |base| base.component(&[named(0x6e, 2_000, &[])]),
    },
    Bomb {
        what: "20,000 adapters",
        words: "adapters",
        bytes: |base| base.component(&[many(TYPES, 1, &[0x3f, 0x7f, 0]), many(8, 20_000, &[3, 0])]),
    },
    Bomb {
        what: "a function of 1,001 parameters",
        words: "not a valid component",
        bytes: |base| base.module(&[section(1, &[&[1, 0x60], &*number(1_001), &[0x7e; 1_001], &[0]].concat())]),
    },
    Bomb {
        what: "a function of 1,001 results",
        words: "not a valid component",
        bytes: |base| base.module(&[section(1, &[&[1, 0x60, 0], &*number(1_001), &[0x7e; 1_001]].concat())]),
    },
    Bomb {
        what: "a name of 200,000 letters",
        words: "not a valid component",
        bytes: |base| {
            let export = [&number(1), &*number(200_000), &[b'n'; 200_000], &[0, 0]].concat();
            base.module(&[many(1, 1, NOTHING), many(3, 1, &[0]), section(7, &export), many(10, 1, &[2, 0, END])])
        },
    },
    Bomb {
        what: "a length that never ends",
        words: "not a valid component",
        bytes: |base| base.and(&[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    },
    Bomb {
        what: "a start function that never ends",
        words: "units of fuel are used up",
        bytes: |_| behaviour("start-section"),
    },
    // For this one the compiler itself has to be stopped.
    Bomb {
        what: "20,000 loops inside one another, 5,000 values alive in each",
        words: "compiling",
        bytes: |base| {
            let turn = |n: u32| {
                [&[0x03, 0x40, 0x20], &*number(n % 5_000), &[0x42, 1, 0x7c, 0x21], &*number(n * 7 % 5_000)].concat()
            };
            let turns: Vec<u8> = (0..20_000).flat_map(turn).collect();
            let ends = [0x41, 0, 0x0d, 0, END].repeat(20_000);
            base.function(&[&[1], &*number(5_000), &[0x7e]].concat(), &[turns, ends].concat())
        },
    },
];
