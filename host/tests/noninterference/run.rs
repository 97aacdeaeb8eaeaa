//! Runs a program: each step is a use of the real imports of a call, as the bindings make it.

use crate::program::{Op, Program, Step};
use crate::world::{Tools, User, World, services};
use platform::clock::{Clock, SystemClock};
use policy::{
    Authority, Budget, Grants, HttpTarget, Limits, Lineage, PluginId, Principal, PrivateOrigins, Requests, Side,
};
use runtime::engine::{HeldResources, PausableClock};
use runtime::imports::{
    CallContext, CallImports, CallOptions, CallScope, ClientLink, ConnectionRequest, ExpectedVersion, HostServices,
    Http, NoSink, PublishedPrompt, Question, ResourceAttributes, ResourceBody, Role, SampleContent, SampleMessage,
    SampleRequest, StateStore, UrlTarget,
};
use runtime::journal::CallJournal;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const REQUESTS: &str = r#"
    agent-tools = ["*.*"]
    client = { form = true, url = true, sample = true, roots = true }
    publish = true
    events = ["a.*"]
    connections = ["account"]
    http = ["GET https://page.example"]
    state = true
"#;

const GRANTS: &str = r#"
    agent-tools = ["*.*"]
    client = { form = true, url = ["page.example"], sample = { fallback = true }, roots = true }
    publish = true
    events = ["a.*"]
    connections = ["account"]
    http = [{ allow = "GET https://page.example" }]
    state = { size = "48 B", keys = 3 }
"#;

const FORM: &str = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;

/// A plugin and the grants that it has beyond those of all.
pub(crate) struct Host {
    authority: Arc<Authority>,
    limits: Arc<Limits>,
    state: Arc<dyn StateStore>,
}

impl Host {
    pub(crate) fn new(state: Arc<dyn StateStore>, more: &str) -> Self {
        let requests: Requests = toml::from_str(REQUESTS).unwrap();
        let grants: Grants = toml::from_str(&format!("{GRANTS}{more}")).unwrap();
        let authority = Authority::new(PluginId { side: Side::Server, name: "p".into() }, &requests, &grants);
        Self { authority: Arc::new(authority), limits: Arc::default(), state }
    }

    /// Runs all calls of the program for this principal, who has nothing stored yet.
    pub(crate) async fn run(&self, program: &Program, principal: &Principal, world: &Arc<World>) {
        let services = services(world, &self.state);
        for steps in program {
            let mut call = Call::new(self, principal, world, services.clone(), CallJournal::default());
            for step in steps {
                call.take(*step).await;
            }
        }
    }
}

impl Host {
    /// Runs one call, in as many instances as there are `stops`, each of which begins when the one before it has taken so
    /// many steps. Returns what the call has seen in the end.
    pub(crate) async fn run_in_instances(
        &self,
        steps: &[Step],
        stops: &[usize],
        principal: &Principal,
        world: &Arc<World>,
    ) -> Seen {
        let services = services(world, &self.state);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let mut journal = CallJournal::in_memory(clock.clone());
        for stop in stops {
            let mut call = Call::new(self, principal, world, services.clone(), journal.clone());
            for step in &steps[..*stop] {
                call.take(*step).await;
            }
            let records = journal.export().expect("all of it can be replayed");
            journal = CallJournal::resumed(clock.clone(), records, Duration::ZERO).unwrap();
        }
        let mut call = Call::new(self, principal, world, services, journal.clone());
        for step in steps {
            call.take(*step).await;
        }
        assert_eq!(journal.problem(), None);
        let imports = &call.imports;
        (call.seen, imports.agent_tools.calls(), imports.questions_asked(), imports.scope.lineage.private_origins())
    }
}

/// What a call has seen, as a number, and what is counted for it.
pub(crate) type Seen = (u64, u32, u32, PrivateOrigins);

/// A running call.
struct Call<'a> {
    imports: CallImports,
    http: Http,
    host: &'a Host,
    world: &'a Arc<World>,
    /// Steps before this one.
    taken: usize,
    /// All that it has seen, as a number.
    seen: u64,
    version: Option<u64>,
}

impl<'a> Call<'a> {
    fn new(
        host: &'a Host,
        principal: &Principal,
        world: &'a Arc<World>,
        services: Arc<HostServices>,
        journal: CallJournal,
    ) -> Self {
        let context = CallContext::new(principal.clone());
        let lineage = Lineage::root("plugins.p.run", &host.limits);
        let scope = CallScope::new(context, host.authority.clone(), lineage, host.limits.clone());
        let link = ClientLink {
            sink: Arc::new(NoSink),
            client: Arc::new(User(world.clone())),
            agent: Arc::new(Tools(world.clone())),
            steering: Some(world.messages()),
            cancel: CancellationToken::new(),
            held: HeldResources::default(),
            fuel: None,
        };
        let http = Http::new(scope.clone(), services.egress.clone());
        let imports = CallImports::new(scope, link, services, None, journal);
        Self { imports, http, host, world, taken: 0, seen: 0, version: None }
    }

    fn see(&mut self, what: &impl Debug) {
        let mut hasher = DefaultHasher::new();
        (self.seen, format!("{what:?}")).hash(&mut hasher);
        self.seen = hasher.finish();
    }

    async fn take(&mut self, step: Step) {
        self.taken += 1;
        if !self.seen.is_multiple_of(step.divisor) {
            return;
        }
        let tells = if step.tells { self.seen % 6 } else { 0 };
        let (text, length) = (format!("told {tells}"), usize::try_from(tells).unwrap_or_default());
        let (key, path) = (|at: u8| format!("k{at}"), |at: u8| format!("r{at}"));
        let value = vec![7; 8 * length];
        match step.op {
            Op::StateGet(at) => {
                let got = self.imports.state().get(&key(at)).await;
                self.version = got.as_ref().ok().and_then(|entry| Some(entry.as_ref()?.version));
                self.see(&got);
            }
            Op::StateSet(at) => {
                let set = self.imports.state().put(key(at), value, ExpectedVersion::Any).await;
                self.see(&set);
            }
            Op::StateSwap(at) => {
                let expected = ExpectedVersion::Is(self.version);
                let set = self.imports.state().put(key(at), value, expected).await;
                self.see(&set);
            }
            Op::StateRemove(at) => {
                let removed = self.imports.state().remove(key(at)).await;
                self.see(&removed);
            }
            Op::StateKeys => {
                let keys = self.imports.state().keys(String::new(), None).await;
                self.see(&keys);
            }
            Op::PutResource(at) => {
                let body = ResourceBody::Text(text);
                let put = self.imports.publish().put_resource(&path(at), body, ResourceAttributes::default());
                self.see(&put);
            }
            Op::PutLargeResource(at) => {
                let body = ResourceBody::Blob(vec![0; 700 << 10]);
                let put = self.imports.publish().put_resource(&path(at), body, ResourceAttributes::default());
                self.see(&put);
            }
            Op::AppendResource(at) => {
                let body = if length.is_multiple_of(2) { ResourceBody::Text(text) } else { ResourceBody::Blob(value) };
                let appended = self.imports.publish().append_resource(&path(at), body);
                self.see(&appended);
            }
            Op::RemoveResource(at) => {
                let removed = self.imports.publish().remove_resource(&path(at));
                self.see(&removed);
            }
            Op::PutPrompt(at) => {
                let (title, description, ttl) = (Some(text.clone()), None, None);
                let (arguments, messages) = (vec![], vec![(Role::User, text)]);
                let prompt = PublishedPrompt { name: key(at), title, description, arguments, messages, ttl };
                let put = self.imports.publish().put_prompt(prompt);
                self.see(&put);
            }
            Op::RemovePrompt(at) => {
                let removed = self.imports.publish().remove_prompt(&key(at));
                self.see(&removed);
            }
            Op::Emit(at) => {
                let emitted = self.imports.events().emit("a.b".into(), "{}", Some(format!("{at}{tells}")));
                self.see(&emitted);
            }
            Op::EmitMany => {
                let events = self.imports.events();
                let emitted: Vec<_> = (0..31).map(|_| events.emit("a.b".into(), "{}", None)).collect();
                self.see(&emitted);
            }
            Op::Connected => {
                let connected = self.imports.accounts().connected("account").await;
                self.see(&connected);
            }
            Op::SendToConnection => {
                let request = ConnectionRequest { method: "GET".into(), path: text, ..ConnectionRequest::default() };
                let sent = self.imports.accounts().send("account", request).await;
                self.see(&sent);
            }
            Op::ElicitForm => self.ask(vec![Question::Form { message: text, schema: FORM.into() }]).await,
            Op::ElicitUrl => self.ask(vec![page(tells)]).await,
            Op::ElicitConnection => {
                let target = UrlTarget::Connect("account".into());
                self.ask(vec![Question::Url { message: text, target }]).await;
            }
            Op::Sample => self.ask(vec![sample(text)]).await,
            Op::ListRoots => self.ask(vec![Question::Roots]).await,
            Op::AskMany => self.ask(vec![page(tells), sample(text), Question::Roots]).await,
            Op::CallPrivate(way) => self.call(vec![("private.get", format!(r#"{{"way": "{way}"}}"#))]).await,
            Op::CallUpstream => self.call(vec![("upstream.put", told(tells))]).await,
            Op::CallComponent => self.call(vec![("other.put", told(tells))]).await,
            Op::CallClient => self.call(vec![("client.put", told(tells))]).await,
            Op::CallMany => {
                let way = r#"{"way": "1"}"#.to_owned();
                self.call(vec![("other.put", told(tells)), ("private.get", way), ("upstream.put", told(tells))]).await;
            }
            Op::ListTools => {
                let tools = self.imports.agent_tools.list();
                self.see(&tools);
            }
            Op::Supported => {
                let abilities = self.imports.client().abilities();
                self.see(&abilities);
            }
            Op::Steering => {
                if step.tells {
                    self.world.send_once(self.taken);
                }
                if step.divisor == 1 {
                    let received = self.imports.receive_steering(Some(Duration::ZERO)).await;
                    self.see(&received);
                } else {
                    let message = self.imports.next_steering();
                    self.see(&message);
                }
            }
            Op::Http => {
                let url = format!("https://page.example/{tells}");
                let (target, _) = HttpTarget::parse_request("GET", &url).unwrap();
                let allowed = self.http.authorize(&target).map(|_| ());
                if allowed.is_ok() {
                    self.world.receive("http", url);
                }
                self.see(&allowed);
            }
        }
    }

    async fn ask(&mut self, questions: Vec<Question>) {
        let questions = questions.into_iter().map(|question| (None, question)).collect();
        let answers = self.imports.client().ask(questions).await;
        self.see(&answers);
    }

    async fn call(&mut self, calls: Vec<(&str, String)>) {
        let clock = PausableClock::new(Arc::new(SystemClock));
        let budget = Budget::root(&self.host.limits, clock.now());
        let caller = self.imports.reverse_caller(budget, calls.len(), clock, None);
        let tools = &self.imports.agent_tools;
        let check =
            |(name, arguments): (&str, String)| tools.check(name.into(), arguments, &CallOptions::default(), &caller);
        let checked = calls.into_iter().map(check).collect();
        let outcomes = tools.make(checked).await;
        let answers: Vec<_> = outcomes.into_iter().map(|outcome| (outcome.answer, outcome.private)).collect();
        self.see(&answers);
    }
}

fn told(tells: u64) -> String {
    format!(r#"{{"told": {tells}}}"#)
}

fn page(tells: u64) -> Question {
    let target = UrlTarget::Address(format!("https://page.example/{tells}"));
    Question::Url { message: "open it".into(), target }
}

fn sample(text: String) -> Question {
    let messages = vec![SampleMessage { role: Role::User, content: vec![SampleContent::Text(text)] }];
    Question::Sample(SampleRequest { messages, max_tokens: 1, ..SampleRequest::default() })
}
