//! The world around the programs: the real stores and checks of the host, and recipients that write down what reaches them.

use async_trait::async_trait;
use platform::changes::ChangeNotifier;
use platform::clock::ManualClock;
use platform::sync::Mutex;
use policy::{PluginId, Principal};
use runtime::imports::{
    Abilities, AgentError, AgentResult, AgentTool, CheckedQuestion, ClientCalls, ClientError, ClientReply,
    ConnectionError, ConnectionRequest, ConnectionResponse, Connections, Consent, Content, HostServices, ModelAnswer,
    ModelError, NoEgress, OpenFiles, Origin, QuestionBatch, ReverseCall, ReverseOutcome, Role, SampleAnswer,
    SampleContent, SampleRequest, StateStore, Steering, SteeringMessage, TokenUsage, ToolCaller, ToolResult,
};
use services::principal_store::PrincipalStore;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What reached each recipient, in order.
pub(crate) type Received = BTreeMap<&'static str, Vec<String>>;

/// Whoever receives something, and the private input.
pub(crate) struct World {
    secret: bool,
    received: Mutex<Received>,
    messages: Steering,
    /// The steps at which a message was sent.
    sent: Mutex<BTreeSet<usize>>,
}

impl World {
    pub(crate) fn new(secret: bool) -> Arc<Self> {
        Arc::new(Self { secret, received: Mutex::default(), messages: Steering::default(), sent: Mutex::default() })
    }

    pub(crate) fn receive(&self, who: &'static str, what: String) {
        self.received.lock().entry(who).or_default().push(what);
    }

    pub(crate) fn received(&self) -> Received {
        self.received.lock().clone()
    }

    /// The messages to the call, in whichever instance it runs.
    pub(crate) fn messages(&self) -> Steering {
        self.messages.clone()
    }

    /// Sends the call a message when it comes to a step for the first time.
    pub(crate) fn send_once(&self, step: usize) {
        if self.sent.lock().insert(step) {
            let text = format!("message {step}");
            let _full = self.messages.say(SteeringMessage { text, ..SteeringMessage::default() });
        }
    }

    /// The answer of the private tool. Each way reveals the secret by another kind of outcome.
    fn private_answer(&self, way: &str) -> Result<AgentResult, AgentError> {
        let answer = |text: &str| Ok(result(text, Origin::Component("private".into())));
        match (way, self.secret) {
            ("\"0\"", secret) => answer(&secret.to_string()),
            ("\"1\"", true) => {
                let content = vec![Content::text("no")];
                Err(AgentError::ToolError(ToolResult { content, structured: None, is_error: true }))
            }
            ("\"2\"", secret) => Err(AgentError::Failed(format!("the tool trapped: {secret}"))),
            ("\"3\"", true) => Err(AgentError::Declined("no".into())),
            ("\"4\"", true) => Err(AgentError::Timeout(1)),
            _ => answer("yes"),
        }
    }
}

fn result(text: &str, origin: Origin) -> AgentResult {
    AgentResult { content: vec![Content::text(text)], structured: None, origin, edited: None }
}

/// The services of a host. They outlive the calls of a program, and so does what calls tell each other by them.
pub(crate) fn services(world: &Arc<World>, state: &Arc<dyn StateStore>) -> Arc<HostServices> {
    let store = Arc::new(PrincipalStore::new(ManualClock::new(), ChangeNotifier::new()));
    Arc::new(HostServices {
        publisher: store.clone(),
        events: store,
        state: state.clone(),
        egress: Arc::new(NoEgress),
        connections: Arc::new(Account(world.clone())),
        open_files: OpenFiles::new(0),
    })
}

pub(crate) struct Tools(pub(crate) Arc<World>);

#[async_trait]
impl ToolCaller for Tools {
    fn tools(&self) -> Vec<AgentTool> {
        vec![]
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match name {
            "private.get" => Ok(Origin::Component("private".into())),
            "other.put" => Ok(Origin::Component("other".into())),
            "upstream.put" => Ok(Origin::Upstream("upstream".into())),
            "client.put" => Ok(Origin::Client),
            _ => Err(AgentError::UnknownTool(name.into())),
        }
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        let arguments = call.arguments.text().to_owned();
        let (who, origin) = match &*call.name {
            "private.get" => {
                let way = call.arguments.value()["way"].to_string();
                let private = Some(Origin::Component("private".into()));
                return ReverseOutcome { private, ..ReverseOutcome::free(self.0.private_answer(&way)) };
            }
            "other.put" => ("component", Origin::Component("other".into())),
            "upstream.put" => ("upstream", Origin::Upstream("upstream".into())),
            _ => ("client", Origin::Client),
        };
        self.0.receive(who, arguments);
        ReverseOutcome::free(Ok(result("thanks", origin)))
    }
}

/// The client of the calls. It has no model, so the host's own answers.
pub(crate) struct User(pub(crate) Arc<World>);

#[async_trait]
impl ClientCalls for User {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, url: true, roots: true, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let replies = inquiry.questions.into_iter().map(|(_, question)| match question {
            CheckedQuestion::Form { .. } => ClientReply::Form(Consent::Decline, None),
            CheckedQuestion::Roots => ClientReply::Roots(vec![]),
            CheckedQuestion::Sample(_) => ClientReply::Missing("there is no model".into()),
            CheckedQuestion::Url { url, connect, .. } => {
                self.0.receive(if connect.is_some() { "account" } else { "page" }, url);
                ClientReply::Url(Consent::Decline)
            }
        });
        Ok(replies.collect())
    }

    fn has_model(&self) -> bool {
        true
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        _: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        let answer = |request: &SampleRequest| {
            self.0.receive("model", format!("{request:?}"));
            let content = vec![SampleContent::Text("yes".into())];
            let answer = SampleAnswer { role: Role::Assistant, content, model: "m".into(), stop_reason: None };
            Ok(ModelAnswer { answer, tokens: TokenUsage::default() })
        };
        Ok(requests.iter().map(answer).collect())
    }
}

/// The server behind a connected account.
struct Account(Arc<World>);

#[async_trait]
impl Connections for Account {
    fn page(&self, _: &Principal, _: &PluginId, name: &str) -> Result<String, ConnectionError> {
        Ok(format!("https://host.example/{name}"))
    }

    async fn is_connected(&self, _: &Principal, _: &str) -> Result<bool, ConnectionError> {
        self.0.receive("account", "a token was renewed".into());
        Ok(true)
    }

    async fn wait_connected(&self, _: &Principal, _: &str) -> Result<(), ConnectionError> {
        Ok(())
    }

    async fn send(
        &self,
        _: &Principal,
        _: &str,
        request: ConnectionRequest,
    ) -> Result<ConnectionResponse, ConnectionError> {
        self.0.receive("account", format!("{request:?}"));
        Ok(ConnectionResponse { status: 200, headers: vec![], body: vec![] })
    }
}
