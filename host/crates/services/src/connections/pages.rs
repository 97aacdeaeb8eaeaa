//! Pages that wait for their user, and flows that are under way. In memory: after a restart a user asks for a new page.
//!
//! A page's id is in its address; whoever has the address can open it, until a browser has said "continue". From then on
//! the page and its flow belong to that browser, by its cookie. Both end after ten minutes or with the first account
//! connected.

use super::seal::random;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::clock::Clock;
use policy::{PluginId, Principal};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a page is good.
pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Pages of one principal: a plugin that asks without end replaces its own.
const MAX_OWN: usize = 16;
/// Pages altogether.
const MAX_ALL: usize = 1_024;

/// Random text of 256 bits: ids, states, verifiers and cookies.
pub(super) type Random = String;

/// What a page is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Purpose {
    /// Whose account it will be.
    pub principal: Principal,
    /// The plugin that asks.
    pub plugin: PluginId,
    /// The connection's name.
    pub connection: String,
}

struct Page {
    purpose: Purpose,
    since: Instant,
    flow: Option<Flow>,
}

struct Flow {
    state: Random,
    verifier: Random,
    /// Of the browser's cookie.
    browser: [u8; 32],
}

/// What the provider is told at the start of a flow.
pub(super) struct Start {
    pub(super) purpose: Purpose,
    pub(super) state: Random,
    pub(super) challenge: String,
}

/// Why a page or a flow cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// There is none such, or not any more.
    Unknown,
    /// It is another browser's.
    Foreign,
}

pub(super) struct Pages {
    clock: Arc<dyn Clock>,
    pages: Mutex<HashMap<Random, Page>>,
}

impl Pages {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, pages: Mutex::default() }
    }

    /// A new page; its id.
    pub(super) fn make(&self, purpose: Purpose) -> std::io::Result<Random> {
        let id = text()?;
        let mut pages = self.living();
        let own = |page: &Page| page.purpose.principal == purpose.principal;
        if pages.values().filter(|page| own(page)).count() >= MAX_OWN {
            remove_oldest(&mut pages, own);
        } else if pages.len() >= MAX_ALL {
            remove_oldest(&mut pages, |_| true);
        }
        pages.insert(id.clone(), Page { purpose, since: self.clock.now(), flow: None });
        Ok(id)
    }

    /// What a page is for, for the browser that wants to see it.
    pub(super) fn look(&self, id: &str, browser: &str) -> Result<Purpose, Lost> {
        let pages = self.living();
        let page = pages.get(id).ok_or(Lost::Unknown)?;
        match &page.flow {
            Some(flow) if flow.browser != digest(browser) => Err(Lost::Foreign),
            _ => Ok(page.purpose.clone()),
        }
    }

    /// The browser goes on: from now on the page is its own. Going on again makes an earlier flow void.
    pub(super) fn start(&self, id: &str, browser: &str) -> std::io::Result<Result<Start, Lost>> {
        let (state, verifier) = (text()?, text()?);
        let mut pages = self.living();
        let Some(page) = pages.get_mut(id) else { return Ok(Err(Lost::Unknown)) };
        let browser = digest(browser);
        if page.flow.as_ref().is_some_and(|flow| flow.browser != browser) {
            return Ok(Err(Lost::Foreign));
        }
        let challenge = URL_SAFE_NO_PAD.encode(digest(&verifier));
        page.flow = Some(Flow { state: state.clone(), verifier, browser });
        Ok(Ok(Start { purpose: page.purpose.clone(), state, challenge }))
    }

    /// What a state is for, if this browser has it.
    pub(super) fn of_state(&self, state: &str, browser: &str) -> Result<Purpose, Lost> {
        let pages = self.living();
        let (page, flow) = pages
            .values()
            .find_map(|page| Some((page, page.flow.as_ref()?)).filter(|(_, flow)| flow.state == state))
            .ok_or(Lost::Unknown)?;
        if flow.browser == digest(browser) { Ok(page.purpose.clone()) } else { Err(Lost::Foreign) }
    }

    /// The provider has sent the browser back: its page and flow are used up. What proves that the flow was ours.
    pub(super) fn finish(&self, state: &str, browser: &str) -> Result<(Purpose, Random), Lost> {
        self.of_state(state, browser)?;
        let mut pages = self.living();
        let id = pages.iter().find(|(_, page)| page.flow.as_ref().is_some_and(|flow| flow.state == state));
        let id = id.map(|(id, _)| id.clone()).ok_or(Lost::Unknown)?;
        let page = pages.remove(&id).ok_or(Lost::Unknown)?;
        page.flow.map(|flow| (page.purpose, flow.verifier)).ok_or(Lost::Unknown)
    }

    /// Those whose time is not over.
    fn living(&self) -> MutexGuard<'_, HashMap<Random, Page>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        pages.retain(|_, page| now.saturating_duration_since(page.since) < LIFETIME);
        pages
    }
}

fn remove_oldest(pages: &mut HashMap<Random, Page>, which: impl Fn(&Page) -> bool) {
    let oldest = pages.iter().filter(|(_, page)| which(page)).min_by_key(|(_, page)| page.since);
    if let Some(id) = oldest.map(|(id, _)| id.clone()) {
        pages.remove(&id);
    }
}

/// 256 random bits as text that needs no encoding anywhere.
pub(super) fn text() -> std::io::Result<Random> {
    Ok(URL_SAFE_NO_PAD.encode(random::<32>()?))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::SystemClock;
    use policy::Side;

    struct Stepped(Instant, Mutex<Duration>);

    impl Clock for Stepped {
        fn now(&self) -> Instant {
            self.0 + *self.1.lock().unwrap()
        }

        fn unix(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn world() -> (Pages, Arc<Stepped>) {
        let clock = Arc::new(Stepped(SystemClock.now(), Mutex::default()));
        (Pages::new(clock.clone()), clock)
    }

    fn purpose(name: &str) -> Purpose {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        Purpose { principal: Principal::known("key", name), plugin, connection: "github".into() }
    }

    #[test]
    fn a_flow_belongs_to_one_browser_and_is_used_once() {
        let (pages, _) = world();
        let id = pages.make(purpose("alice")).unwrap();
        assert_eq!(pages.look(&id, "cookie"), Ok(purpose("alice")));
        assert_eq!(pages.look(&id, "another"), Ok(purpose("alice")), "nobody has gone on yet");
        let start = pages.start(&id, "cookie").unwrap().ok().unwrap();
        assert_eq!(pages.look(&id, "another"), Err(Lost::Foreign));
        assert_eq!(pages.start(&id, "another").unwrap().err(), Some(Lost::Foreign));
        assert_eq!(pages.finish(&start.state, "another"), Err(Lost::Foreign));
        assert_eq!(pages.finish("made up", "cookie"), Err(Lost::Unknown));
        assert_eq!(pages.finish(&id, "cookie"), Err(Lost::Unknown), "the id is no state");
        let (found, verifier) = pages.finish(&start.state, "cookie").unwrap();
        assert_eq!(found, purpose("alice"));
        assert_eq!(start.challenge, URL_SAFE_NO_PAD.encode(digest(&verifier)));
        assert_eq!(pages.finish(&start.state, "cookie"), Err(Lost::Unknown));
        assert_eq!(pages.look(&id, "cookie"), Err(Lost::Unknown));
    }

    #[test]
    fn going_on_again_makes_the_first_flow_void() {
        let (pages, _) = world();
        let id = pages.make(purpose("alice")).unwrap();
        let first = pages.start(&id, "cookie").unwrap().ok().unwrap();
        let second = pages.start(&id, "cookie").unwrap().ok().unwrap();
        assert_eq!(pages.finish(&first.state, "cookie"), Err(Lost::Unknown));
        assert!(pages.finish(&second.state, "cookie").is_ok());
    }

    #[test]
    fn everything_ends() {
        let (pages, clock) = world();
        let id = pages.make(purpose("alice")).unwrap();
        let start = pages.start(&id, "cookie").unwrap().ok().unwrap();
        *clock.1.lock().unwrap() = LIFETIME;
        assert_eq!(pages.finish(&start.state, "cookie"), Err(Lost::Unknown));
        assert_eq!(pages.look(&id, "cookie"), Err(Lost::Unknown));
    }

    #[test]
    fn one_principal_cannot_push_out_others() {
        let (pages, clock) = world();
        let alice = pages.make(purpose("alice")).unwrap();
        let first = pages.make(purpose("bob")).unwrap();
        for _ in 0..MAX_OWN {
            *clock.1.lock().unwrap() += Duration::from_millis(1);
            pages.make(purpose("bob")).unwrap();
        }
        assert!(pages.look(&alice, "").is_ok());
        assert_eq!(pages.look(&first, ""), Err(Lost::Unknown));
        for at in 0..MAX_ALL * 2 {
            pages.make(purpose(&format!("{at}"))).unwrap();
        }
        assert_eq!(pages.pages.lock().unwrap().len(), MAX_ALL);
    }
}
