//! Fair comparison: the contenders take turns in each round, so that other load on the machine affects all of them.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::timeout;

use crate::contender::Contender;
use crate::report::{Report, Samples};

/// Far longer than any single measurement takes; only a server that hangs reaches it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Contenders that started, each with what it needs to run.
pub(crate) struct Race<S> {
    name: String,
    lanes: Vec<(Contender, S)>,
}

impl<S> Race<S> {
    /// Prepares every contender; one that fails to prepare is reported and left out.
    pub(crate) async fn line_up(
        name: impl Into<String>,
        contenders: &[Contender],
        report: &mut Report,
        mut prepare: impl AsyncFnMut(Contender) -> Result<S>,
    ) -> Self {
        let name = name.into();
        eprintln!("measuring {name}");
        let mut lanes = Vec::new();
        for &contender in contenders {
            match patiently(prepare(contender)).await {
                Ok(state) => lanes.push((contender, state)),
                Err(error) => report.fail(&name, contender, &error),
            }
        }
        Self { name, lanes }
    }

    /// Runs `warm_up` unmeasured rounds and then `rounds` measured rounds of `N` figures each; a contender that fails
    /// is left out.
    pub(crate) async fn run<const N: usize>(
        &mut self,
        report: &mut Report,
        warm_up: usize,
        rounds: usize,
        mut measure: impl AsyncFnMut(Contender, &mut S) -> Result<[f64; N]>,
    ) -> [Samples; N] {
        let mut samples: [Samples; N] = std::array::from_fn(|_| Default::default());
        for round in 0..warm_up + rounds {
            for (contender, mut state) in std::mem::take(&mut self.lanes) {
                match patiently(measure(contender, &mut state)).await {
                    Ok(figures) => {
                        if round >= warm_up {
                            for (samples, figure) in samples.iter_mut().zip(figures) {
                                samples[contender as usize].push(figure);
                            }
                        }
                        self.lanes.push((contender, state));
                    }
                    Err(error) => {
                        samples.iter_mut().for_each(|samples| samples[contender as usize].clear());
                        report.fail(&self.name, contender, &error);
                    }
                }
            }
        }
        samples
    }
}

pub(crate) async fn patiently<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(PATIENCE, work).await {
        Ok(result) => result,
        Err(_) => bail!("no end after {} s", PATIENCE.as_secs()),
    }
}
