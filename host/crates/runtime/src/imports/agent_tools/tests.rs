//! Reverse calls that were under way when their process ended.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::super::call_scope::CallScope;
use super::super::call_sink::NoSink;
use super::super::client::NoClient;
use super::super::output::Output;
use super::super::reconcile::{Effect, EffectAnswer, EffectInDoubt, Reconciler, Verdict};
use super::super::types::{CallContext, Content, ToolResult};
use super::*;
use crate::engine::{HeldResources, PausableClock};
use crate::journal::CallJournal;
use async_trait::async_trait;
use futures::FutureExt as _;
use platform::clock::{Clock, SystemClock};
use platform::sync::Mutex;
use policy::{Authority, Budget, Limits, Lineage, Origin, PluginId, Side};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const TOOL: &str = "notes.add";

/// A tool that is not to be called twice; silent, it never answers.
struct Notes {
    is_silent: bool,
    called: AtomicU32,
}

#[async_trait]
impl ToolCaller for Notes {
    fn tools(&self) -> Vec<AgentTool> {
        Vec::new()
    }

    fn find(&self, _: &str) -> Result<Origin, AgentError> {
        Ok(Origin::Client)
    }

    async fn call(&self, _: ReverseCall) -> ReverseOutcome {
        self.called.fetch_add(1, Ordering::Relaxed);
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        let content = vec![Content::text("added now")];
        let answer = AgentResult { content, structured: None, origin: Origin::Client, edited: None };
        ReverseOutcome::free(Ok(answer))
    }
}

/// Returns this verdict each time, and keeps the effects that it was asked about.
struct Says(Verdict, Mutex<Vec<EffectInDoubt>>);

#[async_trait]
impl Reconciler for Says {
    async fn reconcile(&self, effect: EffectInDoubt) -> Verdict {
        self.1.lock().push(effect);
        self.0.clone()
    }
}

/// Calls the tool once. None if it does not end.
fn call(notes: &Arc<Notes>, journal: &CallJournal, says: Option<Arc<dyn Reconciler>>) -> Option<ReverseOutcome> {
    let plugin = PluginId { side: Side::Server, name: "p".into() };
    let words = r#"agent-tools = ["notes.add"]"#;
    let authority = Authority::new(plugin, &toml::from_str(words).unwrap(), &toml::from_str(words).unwrap());
    let (limits, clock) = (Arc::new(Limits::default()), Arc::new(SystemClock));
    let lineage = Lineage::root("plugins.p.x", &limits);
    let context = CallContext::new("local");
    let scope = CallScope::with_reconciler(context, Arc::new(authority), lineage, limits.clone(), says);
    let tools = AgentTools::new(scope, notes.clone(), journal.clone());
    let caller = ReverseCaller {
        client: Arc::new(NoClient),
        cancel: CancellationToken::new(),
        output: Output::new(&limits, Arc::new(NoSink)),
        budget: Budget::root(&limits, clock.now()),
        concurrent: 1,
        pausable_clock: PausableClock::new(clock),
        tree_fuel: None,
        held: HeldResources::default(),
    };
    let checked = tools.check(TOOL.into(), r#"{"text":"milk"}"#.into(), &CallOptions::default(), &caller);
    tools.make(vec![checked]).now_or_never().map(|mut outcomes| outcomes.remove(0))
}

#[test]
fn a_call_in_doubt_is_what_its_plugin_says() {
    let notes = |is_silent| Arc::new(Notes { is_silent, called: AtomicU32::new(0) });
    let result = |is_error| ToolResult { content: vec![Content::text("found")], structured: None, is_error };
    let done = |is_error| Verdict::Done(EffectAnswer::AgentTool(result(is_error)));
    let http = EffectAnswer::Http { status: 200, headers: vec![], body: vec![] };
    for (verdict, text, called) in [
        (done(false), Some("found"), 0),
        (done(true), Some("found"), 0),
        (Verdict::NotDone, Some("added now"), 1),
        (Verdict::Unknown, None, 0),
        (Verdict::Done(http), None, 0),
    ] {
        let clock = Arc::new(SystemClock);
        let (first, later) = (notes(true), notes(false));
        let journal = CallJournal::in_memory(clock.clone());
        assert!(call(&first, &journal, None).is_none(), "its process ends meanwhile");
        let journal = CallJournal::resumed(clock.clone(), journal.export().unwrap(), Duration::ZERO).unwrap();
        let says = Arc::new(Says(verdict.clone(), Mutex::default()));
        let outcome = call(&later, &journal, Some(says.clone()));
        let said = outcome.map(|outcome| match outcome.answer {
            Ok(result) => result.content,
            Err(AgentError::ToolError(result)) => result.content,
            Err(error) => panic!("{error:?}"),
        });
        assert_eq!(said, text.map(|text| vec![Content::text(text)]), "{verdict:?}");
        assert_eq!(later.called.load(Ordering::Relaxed), called, "{verdict:?}");
        let effect = Effect::AgentTool { name: TOOL.into(), arguments: r#"{"text":"milk"}"#.into() };
        assert_eq!(*says.1.lock(), [EffectInDoubt { step: "2".into(), import: "agent-tools.call", effect }]);
        assert_eq!(journal.problem().map(|it| it.code()), text.is_none().then_some("outcome-unknown"), "{verdict:?}");
        if text.is_some() {
            let again = CallJournal::resumed(clock, journal.export().unwrap(), Duration::ZERO).unwrap();
            assert!(call(&later, &again, Some(says.clone())).is_some());
            assert_eq!((says.1.lock().len(), later.called.load(Ordering::Relaxed)), (1, called), "it is asked once");
        }
    }
}
