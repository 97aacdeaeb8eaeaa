//! What a running call may know of the request that serves it at the moment.

use crate::client_tools::{ReverseParams, ToolDeclaration};
use platform::sync::Mutex;
use rmcp::model::InputResponses;
use runtime::imports::Abilities;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

/// The current request of a call, which changes with every round.
#[derive(Default)]
pub(crate) struct RequestView {
    input: Mutex<RequestInput>,
    /// For each call below this one that this host runs, the number of calls that it has under way.
    nested: Mutex<HashMap<String, usize>>,
}

/// What a request brings: the declarations of the client, and its answers to earlier rounds.
#[derive(Default)]
pub(crate) struct RequestInput {
    abilities: Abilities,
    /// Answers to questions, by key.
    answers: InputResponses,
    /// The client's own tools.
    declaration: Option<Arc<ToolDeclaration>>,
    /// Outcomes of reverse calls, by key.
    outcomes: Map<String, Value>,
    /// The keys that an earlier instance of the call has asked under. The client has come back since, with or without answers.
    asked: HashSet<String>,
}

/// Counts a nested call as under way until it is dropped.
pub(crate) struct NestedCallGuard<'a> {
    view: &'a RequestView,
    parent: String,
    /// The id of the nested call, if this host runs it.
    own: Option<String>,
}

impl RequestInput {
    pub(crate) fn new(abilities: Abilities, answers: Option<InputResponses>, reverse: ReverseParams) -> Self {
        let outcomes = reverse.retry.map(|retry| retry.outcomes).unwrap_or_default();
        Self {
            abilities,
            answers: answers.unwrap_or_default(),
            declaration: reverse.declaration,
            outcomes,
            asked: HashSet::new(),
        }
    }

    /// Adds the keys that the client was asked under, for a call that is taken up.
    pub(crate) fn with_asked(self, keys: Vec<String>) -> Self {
        Self { asked: keys.into_iter().collect(), ..self }
    }

    /// What the client may be asked for.
    pub(crate) fn abilities(&self) -> Abilities {
        self.abilities
    }

    /// The tools that its client lets the server call.
    pub(crate) fn declaration(&self) -> Option<Arc<ToolDeclaration>> {
        self.declaration.clone()
    }

    /// Whether the client can answer no question and run no tool.
    pub(crate) fn can_answer_nothing(&self) -> bool {
        self.declaration.is_none() && !self.abilities.any()
    }
}

impl RequestView {
    pub(crate) fn new(input: RequestInput) -> Self {
        Self { input: Mutex::new(input), nested: Mutex::default() }
    }

    /// Continues the call under another request.
    pub(crate) fn set_request(&self, input: RequestInput) {
        *self.input() = input;
    }

    fn input(&self) -> MutexGuard<'_, RequestInput> {
        self.input.lock()
    }

    fn nested(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.nested.lock()
    }

    /// Counts a nested call. `own` is its id, if this host runs it.
    pub(crate) fn begin_nested(&self, parent: &str, own: Option<&str>) -> NestedCallGuard<'_> {
        let mut nested = self.nested();
        if let Some(calls) = nested.get_mut(parent) {
            *calls += 1;
        }
        if let Some(own) = own {
            nested.insert(own.to_owned(), 0);
        }
        NestedCallGuard { view: self, parent: parent.to_owned(), own: own.map(str::to_owned) }
    }

    /// Whether some nested call computes, so that it waits neither for calls of its own nor for one of the `asking` questions.
    pub(crate) fn is_working(&self, asking: usize) -> bool {
        let leaves = self.nested().values().filter(|calls| **calls == 0).count();
        leaves > asking
    }

    /// What the current client may be asked for.
    pub(crate) fn abilities(&self) -> Abilities {
        self.input().abilities
    }

    /// Takes the answer under a key.
    pub(crate) fn take_answer(&self, key: &str) -> Option<Value> {
        self.input().answers.remove(key)
    }

    /// Whether the client was asked under this key and has come back. Returns true only once for each key.
    pub(crate) fn take_asked(&self, key: &str) -> bool {
        self.input().asked.remove(key)
    }

    /// The tools that the current client lets the server call.
    pub(crate) fn declaration(&self) -> Option<Arc<ToolDeclaration>> {
        self.input().declaration.clone()
    }

    /// Takes the outcome of the reverse call under a key.
    pub(crate) fn take_outcome(&self, key: &str) -> Option<Value> {
        self.input().outcomes.remove(key)
    }
}

impl Drop for NestedCallGuard<'_> {
    fn drop(&mut self) {
        let mut nested = self.view.nested();
        if let Some(own) = &self.own {
            nested.remove(own);
        }
        if let Some(calls) = nested.get_mut(&self.parent) {
            *calls -= 1;
        }
    }
}
