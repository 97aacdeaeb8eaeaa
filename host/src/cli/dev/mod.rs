//! `portcullis dev`: serves the plugin of a folder while its author works on it. It builds the plugin anew whenever a source
//! changes; the server loads the changed component as it loads any other.

mod build_process;
mod builder;
mod debounce;
mod plugin;
mod requests;
mod snapshot;
mod source_watch;

use super::options::config_path;
use super::serve::Serving;
use super::stop_signals::stop_signals;
use crate::config::parse_listen_address;
use builder::Builder;
use platform::standard_streams::nobody_writes_stdin;
use plugin::DevPlugin;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

#[derive(clap::Args)]
pub(super) struct Dev {
    /// The plugin's folder.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Serve Streamable HTTP on this address, such as 127.0.0.1:8808 or 8808, instead of stdio. Port 0 takes a free port. Overrides `server.http`.
    #[arg(long, value_name = "ADDR", value_parser = parse_listen_address)]
    http: Option<SocketAddr>,
    /// Configuration file [default: portcullis.toml in the folder, if there is one].
    #[arg(long, short, value_name = "FILE", value_parser = config_path())]
    config: Option<PathBuf>,
}

/// A server and a builder that are ready to start.
pub(super) struct Developing {
    serving: Serving,
    plugin: DevPlugin,
}

impl Dev {
    /// Whether its client is at stdin and stdout, unless the configuration names another way.
    pub(super) fn is_over_stdio(&self) -> bool {
        self.http.is_none()
    }

    /// Loads the configuration and gives up the rights that neither serving nor building needs.
    pub(super) fn confined(self) -> anyhow::Result<Developing> {
        let (plugin, mut config) = DevPlugin::open(&self.folder, self.config)?;
        config.http = self.http.or(config.http);
        // Overrides the file, since reloading is the purpose of this command.
        config.reload = true;
        let serving = Serving::confined(config, &plugin.file.config, true)?;
        Ok(Developing { serving, plugin })
    }
}

/// How long clients wait for the first build: longer than most take, and shorter than clients wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Developing {
    /// Whether its client is at stdin and stdout.
    pub(super) fn is_over_stdio(&self) -> bool {
        self.serving.is_over_stdio()
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let Self { serving, plugin } = self;
        let (stop, force_stop) = stop_signals()?;
        let is_over_stdio = serving.is_over_stdio();
        let client_ends = async || match is_over_stdio {
            true => nobody_writes_stdin().await,
            false => std::future::pending().await,
        };
        let end: CancellationToken = stop.child_token();
        let (begun, first_build) = oneshot::channel();
        let building = tokio::spawn(end.clone().run_until_cancelled_owned(Builder::new(plugin).run(begun)));
        let serve = tokio::select! {
            first = first_build => first.unwrap_or(Ok(())).map(|()| true),
            () = tokio::time::sleep(PATIENCE) => {
                eprintln!("serving what is there; the build goes on");
                Ok(true)
            }
            () = stop.cancelled() => Ok(false),
            () = client_ends() => Ok(false),
        };
        let served = match serve {
            Ok(true) => serving.run_until(stop, force_stop).await,
            Ok(false) => Ok(ExitCode::SUCCESS),
            Err(error) => Err(error),
        };
        end.cancel();
        // A build that runs is killed as it is dropped.
        let _ = building.await;
        served
    }
}
