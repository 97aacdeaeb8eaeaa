//! Malformed components: generated from random bytes, or made by changing a valid one. Each has a number, so that a
//! failure can be reproduced.

use arbitrary::{Arbitrary, Unstructured};
use wasm_mutate::WasmMutate;

/// A section of a component: its id and content.
type Section = (u8, Vec<u8>);

/// The id of a core module section.
const CORE_MODULE: u8 = 1;
const CORE_INSTANCE: u8 = 2;
/// The number of bytes from which the generator makes its choices.
const CHOICES: usize = 2048;

/// How a component is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Any component.
    Generated,
    /// A plugin whose core module is replaced by any other.
    OtherCode,
    /// A plugin whose core module has some changes.
    ChangedCode,
    /// A plugin with some flipped bits.
    Bits,
    /// A truncated plugin.
    Cut,
    /// A plugin with swapped, duplicated or missing sections.
    Sections,
    /// A plugin with a size that is wrong or has a longer encoding than needed.
    Sizes,
}

/// All ways, each with its share of a thousand components.
pub const WAYS: [(Way, usize); 7] = [
    (Way::Generated, 200),
    (Way::OtherCode, 150),
    (Way::ChangedCode, 200),
    (Way::Bits, 250),
    (Way::Cut, 75),
    (Way::Sections, 75),
    (Way::Sizes, 50),
];

/// A pseudo-random generator (xorshift64*).
pub struct Numbers(u64);

impl Numbers {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        let mut numbers = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        numbers.next();
        numbers
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// The component with this number, made from a valid plugin.
pub fn mangled(way: Way, plugin: &[u8], number: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(number);
    let anything = |bytes: &[u8]| {
        let made = wasm_smith::Component::arbitrary(&mut Unstructured::new(bytes));
        made.map(|component| component.to_bytes()).unwrap_or_default()
    };
    match way {
        Way::Generated => anything(&numbers.bytes(CHOICES)),
        Way::OtherCode => {
            let bytes = numbers.bytes(CHOICES);
            let module = wasm_smith::Module::arbitrary(&mut Unstructured::new(&bytes)).map(|module| module.to_bytes());
            with_code(plugin, |_| module.unwrap_or_default())
        }
        Way::ChangedCode => with_code(plugin, |module| {
            let mut mutate = WasmMutate::default();
            mutate.seed(number).fuel(30).preserve_semantics(false);
            // A module that cannot be changed in this way stays unchanged.
            let changed = mutate.run(&module).ok().and_then(|mut all| all.next()?.ok());
            changed.unwrap_or(module)
        }),
        Way::Bits => {
            let mut bytes = plugin.to_vec();
            for _ in 0..=numbers.below(8) {
                let at = 8 + numbers.below(bytes.len() - 8);
                bytes[at] ^= 1 << numbers.below(8);
            }
            bytes
        }
        Way::Cut => plugin[..numbers.below(plugin.len())].to_vec(),
        Way::Sections => {
            let mut sections = sections(plugin);
            let (one, other) = (numbers.below(sections.len()), numbers.below(sections.len()));
            match numbers.below(3) {
                0 => sections.swap(one, other),
                1 => drop(sections.remove(one)),
                _ => sections.insert(other, sections[one].clone()),
            }
            whole(&sections, |_, size| leb(size as u64, 0))
        }
        Way::Sizes => {
            let sections = sections(plugin);
            let (chosen, wrong) = (numbers.below(sections.len()), numbers.below(2) == 0);
            let (padding, off) = (numbers.below(12), numbers.next() >> numbers.below(64));
            whole(&sections, |at, size| match (at == chosen, wrong) {
                (false, _) => leb(size as u64, 0),
                (true, false) => leb(size as u64, padding),
                (true, true) => leb((size as u64).wrapping_add(off), 0),
            })
        }
    }
}

/// A plugin with this many more core instances, of a module that is empty.
pub fn with_instances(plugin: &[u8], more: u8) -> Vec<u8> {
    let mut sections = sections(plugin);
    let module = sections.iter().filter(|(number, _)| *number == CORE_MODULE).count();
    sections.push((CORE_MODULE, b"\0asm\x01\0\0\0".to_vec()));
    // Each: instantiate, the module, no arguments.
    let instance = [&[0], leb(module as u64, 0).as_slice(), &[0]].concat();
    let instances = std::iter::repeat_n(instance, more.into()).flatten();
    sections.push((CORE_INSTANCE, [more].into_iter().chain(instances).collect()));
    whole(&sections, |_, size| leb(size as u64, 0))
}

/// A plugin with its first core module changed.
fn with_code(plugin: &[u8], change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let mut sections = sections(plugin);
    let code = sections.iter_mut().find(|(number, _)| *number == CORE_MODULE).expect("a plugin has code");
    code.1 = change(std::mem::take(&mut code.1));
    whole(&sections, |_, size| leb(size as u64, 0))
}

/// The sections of a valid component.
fn sections(component: &[u8]) -> Vec<Section> {
    let (mut at, mut sections) = (8, Vec::new());
    while at < component.len() {
        let number = component[at];
        at += 1;
        let (mut size, mut shift) = (0usize, 0);
        loop {
            let byte = component[at];
            at += 1;
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        sections.push((number, component[at..at + size].to_vec()));
        at += size;
    }
    sections
}

/// A component of sections; `size` writes the size of each.
fn whole(sections: &[Section], size: impl Fn(usize, usize) -> Vec<u8>) -> Vec<u8> {
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    for (at, (number, content)) in sections.iter().enumerate() {
        bytes.push(*number);
        bytes.extend(size(at, content.len()));
        bytes.extend_from_slice(content);
    }
    bytes
}

/// A number in LEB128, with `padding` superfluous bytes.
pub fn leb(mut number: u64, padding: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 && padding == 0 {
            bytes.push(byte);
            return bytes;
        }
        bytes.push(byte | 0x80);
        if number == 0 {
            bytes.extend(std::iter::repeat_n(0x80, padding - 1));
            bytes.push(0);
            return bytes;
        }
    }
}
