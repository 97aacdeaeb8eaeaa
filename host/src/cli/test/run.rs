//! Runs the calls of one transcript.

use super::outcome::TestedOutcome;
use super::published::Published;
use super::script::{Script, Seen};
use super::state::TestState;
use super::transcript::{TestCall, TestTranscript};
use crate::config::environment_variable;
use anyhow::Context;
use platform::clock::SystemClock;
use platform::file_descriptors;
use plugins::calls::{CallRequest, Runner};
use plugins::catalog::Plugin;
use plugins::loading::Loader;
use policy::{DataKey, HostEnvironment, PluginId, PluginSpec, Requests, Side};
use runtime::engine::HeldResources;
use runtime::imports::{CallContext, ClientLink, HostServices, OpenFiles};
use runtime::journal::CallJournal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What is tested.
pub(super) struct Tested {
    pub(super) loader: Loader,
    pub(super) component: PathBuf,
}

/// A host of its own for one transcript: its calls share the plugin's state, and nothing else.
pub(super) struct TestRun {
    runner: Runner,
    plugin: Arc<Plugin>,
    requests: Option<Requests>,
    script: Script,
    pub(super) state: Arc<TestState>,
    pub(super) published: Arc<Published>,
}

impl TestRun {
    pub(super) async fn start(tested: &Tested, transcript: &TestTranscript) -> anyhow::Result<Self> {
        let id = PluginId::new(Side::Server, &transcript.plugin).map_err(anyhow::Error::msg)?;
        let grants = transcript.grants.clone();
        let variable = |name: &String| Some((name.clone(), environment_variable(name)?.into_string().ok()?));
        let environment = grants.env.iter().filter_map(variable).collect();
        let state = Arc::new(TestState::new()?);
        tested.loader.set_environment(HostEnvironment { environment, state: Some(state.folder()) });
        let spec = PluginSpec {
            data: DataKey::configured(&id),
            id,
            source: tested.component.clone(),
            digest: None,
            definitions: None,
            prefix: false,
            private: false,
            grants,
            idempotency: BTreeMap::new(),
            limits: Arc::new(transcript.limits.clone()),
        };
        let (plugin, examined) = tested.loader.load_examined(spec).await?;
        let (script, published) = (Script::default(), Arc::new(Published::new()));
        let services = HostServices {
            publisher: published.clone(),
            events: published.clone(),
            state: state.clone(),
            egress: Arc::new(script.clone()),
            open_files: OpenFiles::new(file_descriptors::shares().guest_files),
            ..HostServices::none()
        };
        let runner = Runner::new(Arc::new(SystemClock), services);
        let requests = examined.inspection.manifest.map(|manifest| manifest.requests);
        Ok(Self { runner, plugin: Arc::new(plugin), requests, script, state, published })
    }

    pub(super) fn requests(&self) -> Option<Requests> {
        self.requests.clone()
    }

    pub(super) async fn call(&mut self, call: &TestCall) -> anyhow::Result<(TestedOutcome, Seen)> {
        let tool = self.plugin.tool(&call.tool).with_context(|| {
            let names: Vec<_> = self.plugin.tools.iter().map(|tool| tool.tool.name.as_str()).collect();
            format!("there is no tool `{}`; there are: {}", call.tool, names.join(", "))
        })?;
        self.script.begin(call);
        let arguments = Value::Object(call.arguments.clone());
        let request = CallRequest {
            context: CallContext::new("local"),
            link: ClientLink {
                sink: Arc::new(self.script.clone()),
                client: Arc::new(self.script.clone()),
                agent: Arc::new(self.script.clone()),
                steering: None,
                cancel: CancellationToken::new(),
                held: HeldResources::default(),
                fuel: None,
            },
            parent: None,
            journal: CallJournal::default(),
        };
        let finished = self.runner.call_tool(self.plugin.clone(), tool.clone(), arguments.into(), request).await;
        let seen = Seen { sandbox: finished.uses, ..self.script.end() };
        Ok((TestedOutcome::new(&finished, &seen), seen))
    }
}
