//! The signals that stop a server.

use platform::signals;
use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Two tokens: the first SIGTERM, SIGINT (Ctrl-C) or SIGHUP cancels the first one. The next such signal cancels the second one,
/// which forces the stop.
pub(super) fn stop_signals() -> io::Result<(CancellationToken, CancellationToken)> {
    tokens(|mut stops| async move {
        stops.next().await;
    })
}

/// The same for a process that has a supervisor. A signal for all processes of a name or of a service reaches both, and the
/// supervisor passes its own on, so this process may get one signal twice. A second signal therefore means nothing: SIGQUIT
/// forces the stop, which only the supervisor sends.
pub(super) fn supervised_stop_signals() -> io::Result<(CancellationToken, CancellationToken)> {
    let mut quit = signal(SignalKind::quit())?;
    // SIGUSR2 is for the supervisor. It would end this process if nothing listened to it.
    let replace = signal(SignalKind::user_defined2())?;
    tokens(|_| async move {
        quit.recv().await;
        drop(replace);
    })
}

/// `forced` waits for the signal that cancels the second token.
fn tokens<F: Future<Output = ()> + Send>(
    forced: impl FnOnce(Stops) -> F + Send + 'static,
) -> io::Result<(CancellationToken, CancellationToken)> {
    let (stop, force_stop) = (CancellationToken::new(), CancellationToken::new());
    let (stopped, ended) = (stop.clone(), force_stop.clone());
    let mut stops = Stops::listen()?;
    tokio::spawn(async move {
        stops.next().await;
        tracing::info!("stopping: running calls have 9 s to end; another signal ends them at once");
        stopped.cancel();
        forced(stops).await;
        tracing::info!("ending all calls");
        ended.cancel();
    });
    Ok((stop, force_stop))
}

/// The signals that ask a process to end.
pub(super) struct Stops {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Stops {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: if signals::is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            Some(_) = async { self.hangup.as_mut()?.recv().await } => {}
        }
    }
}
