//! The two compute-heavy tools. The guest and the native server compile this very file, so both run the same code.

use std::hint::black_box;

/// Words in the table that `sum` walks: 1 MiB, more than a level 1 cache holds.
const WORDS: usize = 1 << 17;

/// Fibonacci by plain recursion: code made of tiny calls, where metering costs most.
#[inline(never)]
pub(crate) fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

/// Walks a 1 MiB table `steps` times, each step reading and writing a word whose place depends on the step before.
pub(crate) fn sum(steps: u64) -> u64 {
    let mut table: Vec<u64> = (0..WORDS as u64).collect();
    let mut place = 1_u64;
    let mut total = 0_u64;
    for step in 0..steps {
        // An odd multiplier and increment visit every word before one comes twice.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = &mut table[(place >> 47) as usize % WORDS];
        *word = word.wrapping_add(step);
        total = total.wrapping_add(*word);
    }
    black_box(&table);
    total
}
