//! Random programs of guests: some calls one after another, each a list of steps over all imports.

use fastrand::Rng;

/// Calls of one program. Each is a root call of the same plugin for the same principal, and remembers nothing itself.
const MOST_CALLS: usize = 4;
/// Steps of one call.
const MOST_STEPS: usize = 6;

/// One use of an import. Small numbers choose names, so that calls meet each other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    StateGet(u8),
    StateSet(u8),
    /// Expects the version that the call saw last, or none.
    StateSwap(u8),
    StateRemove(u8),
    StateKeys,
    PutResource(u8),
    /// So large that few of them fit.
    PutLargeResource(u8),
    AppendResource(u8),
    RemoveResource(u8),
    PutPrompt(u8),
    RemovePrompt(u8),
    Emit(u8),
    /// As many as the rate allows.
    EmitMany,
    Connected,
    SendToConnection,
    ElicitForm,
    ElicitUrl,
    ElicitConnection,
    Sample,
    ListRoots,
    AskMany,
    /// In one of several ways, each of which tells the secret by another outcome.
    CallPrivate(u8),
    CallUpstream,
    CallComponent,
    CallClient,
    CallMany,
    ListTools,
    Supported,
    Http,
    /// Looks for a message. Only the programs that are replayed do; see `FUNCTIONS`.
    Steering,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) op: Op,
    /// The step is taken if the number of what the call has seen can be divided by this.
    pub(crate) divisor: u64,
    /// Whether what the call has seen is in what it sends and stores.
    pub(crate) tells: bool,
}

pub(crate) type Program = Vec<Vec<Step>>;

/// The program with this number. Its calls use one kind of store, so that they meet there.
pub(crate) fn program(number: u64) -> Program {
    let mut rng = Rng::with_seed(number);
    let store = rng.u8(0..4);
    let calls = rng.usize(1..=MOST_CALLS);
    (0..calls).map(|_| (0..rng.usize(1..=MOST_STEPS)).map(|_| step(&mut rng, store)).collect()).collect()
}

/// One call with this number, with more steps, over all kinds of stores.
pub(crate) fn call(number: u64) -> Vec<Step> {
    let mut rng = Rng::with_seed(number);
    (0..rng.usize(1..=3 * MOST_STEPS))
        .map(|_| {
            let store = rng.u8(0..4);
            match (step(&mut rng, store), rng.u8(0..3)) {
                (step, 0) => Step { op: Op::Steering, ..step },
                (step, _) => step,
            }
        })
        .collect()
}

fn step(rng: &mut Rng, store: u8) -> Step {
    let op = match rng.u8(0..10) {
        0 | 1 => Op::CallPrivate(rng.u8(0..5)),
        2..=6 => stored(rng, store),
        _ => sent(rng),
    };
    Step { op, divisor: rng.u64(1..=3), tells: rng.bool() }
}

/// Something that other calls may notice.
fn stored(rng: &mut Rng, store: u8) -> Op {
    let name = rng.u8(0..3);
    match (store, rng.u8(0..5)) {
        (0, 0) => Op::StateGet(name),
        (0, 1) => Op::StateSet(name),
        (0, 2) => Op::StateSwap(name),
        (0, 3) => Op::StateRemove(name),
        (0, _) => Op::StateKeys,
        (1, 0) => Op::PutResource(name),
        (1, 1) => Op::AppendResource(name),
        (1, 2) => Op::RemoveResource(name),
        (1, _) => Op::PutLargeResource(name),
        (2, 0..=2) => Op::PutPrompt(name),
        (2, _) => Op::RemovePrompt(name),
        (_, 0) => Op::EmitMany,
        _ => Op::Emit(name),
    }
}

/// Something that somebody receives, or that tells about the client.
fn sent(rng: &mut Rng) -> Op {
    match rng.u8(0..17) {
        0 => Op::Connected,
        1 => Op::SendToConnection,
        2 => Op::ElicitForm,
        3 => Op::ElicitUrl,
        4 => Op::ElicitConnection,
        5 => Op::Sample,
        6 => Op::ListRoots,
        7 => Op::AskMany,
        8 | 9 => Op::CallUpstream,
        10 => Op::CallComponent,
        11 => Op::CallClient,
        12 => Op::CallMany,
        13 => Op::ListTools,
        14 => Op::Supported,
        _ => Op::Http,
    }
}
