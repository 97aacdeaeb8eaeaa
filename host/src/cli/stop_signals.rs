//! The signals that stop a server.

use platform::signals;
use std::io;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Two tokens: the first SIGTERM, SIGINT (Ctrl-C) or SIGHUP cancels the first, the next one the second, which forces the stop.
pub(super) fn stop_signals() -> io::Result<(CancellationToken, CancellationToken)> {
    let (stop, force_stop) = (CancellationToken::new(), CancellationToken::new());
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = if signals::is_hangup_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
    let steps = [
        (stop.clone(), "stopping: running calls have 9 s to end; another signal ends them at once"),
        (force_stop.clone(), "ending all calls"),
    ];
    tokio::spawn(async move {
        for (token, step) in steps {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
                Some(_) = async { hangup.as_mut()?.recv().await } => {}
            }
            tracing::info!("{step}");
            token.cancel();
        }
    });
    Ok((stop, force_stop))
}
