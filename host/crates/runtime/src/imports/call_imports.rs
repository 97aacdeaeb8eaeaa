//! The host side of all imports for one call.

use super::agent_tools::AgentTools;
use super::call_authority::CallAuthority;
use super::call_sink::CallSink;
use super::client::Client;
use super::connections::Accounts;
use super::events::Events;
use super::host_services::HostServices;
use super::http::{Egress, Http, NoEgress};
use super::import_span::ImportSpan;
use super::output::Output;
use super::progress::Progress;
use super::publish::Publish;
use super::state::PluginState;
use super::steering::Steering;
use super::types::CallContext;
use super::wasi::{DiskQuota, Files, RefusedPath};
use platform::audit::CallAudit;
use std::sync::Arc;

/// One access object per imported interface, for one call.
pub struct CallImports {
    pub context: CallContext,
    pub output: Output,
    pub progress: Progress,
    pub agent_tools: AgentTools,
    pub steering: Steering,
    pub publish: Publish,
    pub events: Events,
    pub state: PluginState,
    pub client: Client,
    pub accounts: Accounts,
    pub http: Http,
    pub files: Files,
    pub authority: CallAuthority,
    /// The last path that the sandbox refused, for the error message.
    pub refused_path: Option<RefusedPath>,
}

impl CallImports {
    /// Output and progress share one sink.
    pub fn new(
        context: CallContext,
        limits: &policy::Limits,
        sink: Arc<dyn CallSink>,
        agent_tools: AgentTools,
        client: Client,
        accounts: Accounts,
    ) -> Self {
        let (authority, services) = (agent_tools.authority().clone(), HostServices::none());
        let client = client.with_call_id(&context.id);
        let lineage = agent_tools.lineage().clone();
        let http = Http::new(authority.clone(), lineage, Arc::new(NoEgress));
        let state = PluginState::new(authority.clone(), agent_tools.lineage().clone(), &context, services.state);
        Self {
            context,
            output: Output::new(limits, sink.clone()),
            progress: Progress::new(sink),
            agent_tools,
            steering: Steering::default(),
            publish: Publish::new(authority.clone(), services.publisher),
            events: Events::new(authority.clone(), services.events),
            state,
            client,
            accounts,
            http,
            files: Files::new(limits.growth.as_u64(), &authority),
            authority,
            refused_path: None,
        }
    }

    /// Where decisions on this call are recorded.
    pub fn audit(&self) -> &CallAudit {
        self.authority.audit()
    }

    /// Starts the span of an import call; `bytes` is what the guest passed in.
    pub fn start_span(&self, name: &'static str, bytes: usize) -> ImportSpan {
        ImportSpan::start(self.audit(), name).with_request_size(bytes as u64)
    }

    /// Without this, no request is sent, whatever is granted.
    pub fn with_egress(mut self, egress: Arc<dyn Egress>) -> Self {
        self.http = Http::new(self.authority.clone(), self.agent_tools.lineage().clone(), egress);
        self
    }

    /// The quota of the plugin's scratch directory, which all its calls share.
    pub fn with_disk_quota(mut self, quota: Option<&Arc<DiskQuota>>) -> Self {
        self.files.set_own_quota(quota, &self.authority);
        self
    }

    pub fn with_steering(mut self, steering: Steering) -> Self {
        self.steering = steering;
        self
    }

    /// Without this, nothing can be published, emitted or stored.
    pub fn with_services(mut self, services: &HostServices) -> Self {
        let authority = &self.authority;
        let lineage = self.agent_tools.lineage().clone();
        self.publish = Publish::new(authority.clone(), services.publisher.clone());
        self.events = Events::new(authority.clone(), services.events.clone());
        self.state = PluginState::new(authority.clone(), lineage, &self.context, services.state.clone());
        self
    }
}
