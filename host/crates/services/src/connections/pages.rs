//! Pages that wait for their user, and OAuth flows in progress. They are kept in memory: after a restart, users request a new
//! page.
//!
//! A page's id is in its address; anyone with the address can open it, or log in for it, until a browser has logged in as
//! its principal or pressed "continue". From then on the page and its flow belong to that browser, by its cookie. Both end
//! after ten minutes or when the account is connected.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::clock::Clock;
use platform::random::random_text;
use platform::sync::Mutex;
use policy::{PluginId, Principal};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

pub(super) const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Pages of one principal; new ones replace its oldest.
const MAX_OWN: usize = 16;
const MAX_ALL: usize = 1_024;
/// Logins that one page may begin. Each may cost the issuer a request. More than one is allowed, because chat programs open
/// addresses too.
const MAX_LOGINS: usize = 16;

/// Random text of 256 bits: ids, states, verifiers and cookies.
pub(super) type Random = String;

#[derive(Debug, Clone, PartialEq)]
pub struct ConnectPurpose {
    pub principal: Principal,
    pub plugin: PluginId,
    pub connection: String,
}

struct Page {
    purpose: ConnectPurpose,
    since: Instant,
    /// The browser that the page belongs to.
    owner: Option<[u8; 32]>,
    /// Logins in progress.
    logins: Vec<Flow>,
    logins_begun: usize,
    flow: Option<Flow>,
}

struct Flow {
    state: Random,
    verifier: Random,
    browser: [u8; 32],
}

/// What the provider receives at the start of a flow.
pub(super) struct FlowStart {
    pub(super) state: Random,
    pub(super) challenge: String,
}

/// Why a page or a flow cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageError {
    /// It does not exist or has expired.
    Unknown,
    OtherBrowser,
}

pub(super) struct Pages {
    clock: Arc<dyn Clock>,
    pages: Mutex<HashMap<Random, Page>>,
}

impl Pages {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, pages: Mutex::default() }
    }

    pub(super) fn create(&self, purpose: ConnectPurpose) -> std::io::Result<Random> {
        let id = random_text::<32>()?;
        let mut pages = self.live_pages();
        let own = |page: &Page| page.purpose.principal == purpose.principal;
        if pages.values().filter(|page| own(page)).count() >= MAX_OWN {
            remove_oldest(&mut pages, own);
        } else if pages.len() >= MAX_ALL {
            remove_oldest(&mut pages, |_| true);
        }
        let (since, logins) = (self.clock.now(), Vec::new());
        pages.insert(id.clone(), Page { purpose, since, owner: None, logins, logins_begun: 0, flow: None });
        Ok(id)
    }

    /// The purpose of a page, for a browser that may see it, and whether the page belongs to that browser.
    pub(super) fn get(&self, id: &str, browser: &str) -> Result<(ConnectPurpose, bool), PageError> {
        let mut pages = self.live_pages();
        let page = open_page(&mut pages, id, digest(browser))?;
        Ok((page.purpose.clone(), page.owner.is_some()))
    }

    /// Begins a login of the browser. The page does not belong to the browser yet.
    pub(super) fn start_login(&self, id: &str, browser: &str) -> std::io::Result<Result<FlowStart, PageError>> {
        let (start, login) = new_flow(browser)?;
        let mut pages = self.live_pages();
        Ok(open_page(&mut pages, id, login.browser).and_then(|page| {
            if page.logins_begun == MAX_LOGINS {
                return Err(PageError::Unknown);
            }
            page.logins_begun += 1;
            page.logins.push(login);
            Ok(start)
        }))
    }

    /// The issuer has sent the browser back: ends its login, and returns the page's id and the login's PKCE verifier.
    pub(super) fn finish_login(
        &self,
        state: &str,
        browser: &str,
    ) -> Result<(Random, ConnectPurpose, Random), PageError> {
        let mut pages = self.live_pages();
        let found = pages.iter_mut().find_map(|(id, page)| {
            let at = page.logins.iter().position(|login| login.state == state)?;
            Some((id, page, at))
        });
        let (id, page, at) = found.ok_or(PageError::Unknown)?;
        let browser = digest(browser);
        if page.logins.get(at).is_none_or(|login| login.browser != browser) {
            return Err(PageError::OtherBrowser);
        }
        let login = page.logins.remove(at);
        Ok((id.clone(), page.purpose.clone(), login.verifier))
    }

    /// The browser's user has proved to be the page's principal: the page now belongs to the browser.
    pub(super) fn admit(&self, id: &str, browser: &str) -> Result<(), PageError> {
        let browser = digest(browser);
        open_page(&mut self.live_pages(), id, browser).map(|page| page.owner = Some(browser))
    }

    /// The browser continues: the page now belongs to it. Continuing again invalidates an earlier flow.
    pub(super) fn start(
        &self,
        id: &str,
        browser: &str,
    ) -> std::io::Result<Result<(ConnectPurpose, FlowStart), PageError>> {
        let (start, flow) = new_flow(browser)?;
        let mut pages = self.live_pages();
        Ok(open_page(&mut pages, id, flow.browser).map(|page| {
            page.owner = Some(flow.browser);
            page.flow = Some(flow);
            (page.purpose.clone(), start)
        }))
    }

    /// The purpose of the flow with this `state`, if this browser started it.
    pub(super) fn find_flow(&self, state: &str, browser: &str) -> Result<ConnectPurpose, PageError> {
        let pages = self.live_pages();
        let (page, flow) = pages
            .values()
            .find_map(|page| Some((page, page.flow.as_ref()?)).filter(|(_, flow)| flow.state == state))
            .ok_or(PageError::Unknown)?;
        if flow.browser == digest(browser) { Ok(page.purpose.clone()) } else { Err(PageError::OtherBrowser) }
    }

    /// The provider has sent the browser back: removes the page and returns its PKCE verifier.
    pub(super) fn finish(&self, state: &str, browser: &str) -> Result<(ConnectPurpose, Random), PageError> {
        self.find_flow(state, browser)?;
        let mut pages = self.live_pages();
        let id = pages.iter().find(|(_, page)| page.flow.as_ref().is_some_and(|flow| flow.state == state));
        let id = id.map(|(id, _)| id.clone()).ok_or(PageError::Unknown)?;
        let page = pages.remove(&id).ok_or(PageError::Unknown)?;
        page.flow.map(|flow| (page.purpose, flow.verifier)).ok_or(PageError::Unknown)
    }

    /// Removes expired pages first.
    fn live_pages(&self) -> MutexGuard<'_, HashMap<Random, Page>> {
        let mut pages = self.pages.lock();
        let now = self.clock.now();
        pages.retain(|_, page| now.saturating_duration_since(page.since) < LIFETIME);
        pages
    }
}

/// The page, unless it belongs to another browser.
fn open_page<'a>(pages: &'a mut HashMap<Random, Page>, id: &str, browser: [u8; 32]) -> Result<&'a mut Page, PageError> {
    let page = pages.get_mut(id).ok_or(PageError::Unknown)?;
    if page.owner.is_none_or(|owner| owner == browser) { Ok(page) } else { Err(PageError::OtherBrowser) }
}

fn new_flow(browser: &str) -> std::io::Result<(FlowStart, Flow)> {
    let (state, verifier) = (random_text::<32>()?, random_text::<32>()?);
    let challenge = URL_SAFE_NO_PAD.encode(digest(&verifier));
    Ok((FlowStart { state: state.clone(), challenge }, Flow { state, verifier, browser: digest(browser) }))
}

fn remove_oldest(pages: &mut HashMap<Random, Page>, which: impl Fn(&Page) -> bool) {
    let oldest = pages.iter().filter(|(_, page)| which(page)).min_by_key(|(_, page)| page.since);
    if let Some(id) = oldest.map(|(id, _)| id.clone()) {
        pages.remove(&id);
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::ManualClock;
    use policy::Side;

    fn test_pages() -> (Pages, Arc<ManualClock>) {
        let clock = ManualClock::new();
        (Pages::new(clock.clone()), clock)
    }

    fn purpose(name: &str) -> ConnectPurpose {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        ConnectPurpose { principal: Principal::from_source("key", name), plugin, connection: "github".into() }
    }

    #[test]
    fn a_flow_belongs_to_one_browser_and_is_used_once() {
        let (pages, _) = test_pages();
        let id = pages.create(purpose("alice")).unwrap();
        assert_eq!(pages.get(&id, "cookie"), Ok((purpose("alice"), false)));
        assert_eq!(pages.get(&id, "another"), Ok((purpose("alice"), false)), "no browser has continued yet");
        let (_, start) = pages.start(&id, "cookie").unwrap().ok().unwrap();
        assert_eq!(pages.get(&id, "cookie"), Ok((purpose("alice"), true)));
        assert_eq!(pages.get(&id, "another"), Err(PageError::OtherBrowser));
        assert_eq!(pages.start(&id, "another").unwrap().err(), Some(PageError::OtherBrowser));
        assert_eq!(pages.finish(&start.state, "another"), Err(PageError::OtherBrowser));
        assert_eq!(pages.finish("made up", "cookie"), Err(PageError::Unknown));
        assert_eq!(pages.finish(&id, "cookie"), Err(PageError::Unknown), "the id is not a state");
        let (found, verifier) = pages.finish(&start.state, "cookie").unwrap();
        assert_eq!(found, purpose("alice"));
        assert_eq!(start.challenge, URL_SAFE_NO_PAD.encode(digest(&verifier)));
        assert_eq!(pages.finish(&start.state, "cookie"), Err(PageError::Unknown));
        assert_eq!(pages.get(&id, "cookie"), Err(PageError::Unknown));
    }

    #[test]
    fn a_second_start_invalidates_the_first_flow() {
        let (pages, _) = test_pages();
        let id = pages.create(purpose("alice")).unwrap();
        let (_, first) = pages.start(&id, "cookie").unwrap().ok().unwrap();
        let (_, second) = pages.start(&id, "cookie").unwrap().ok().unwrap();
        assert_eq!(pages.finish(&first.state, "cookie"), Err(PageError::Unknown));
        assert!(pages.finish(&second.state, "cookie").is_ok());
    }

    #[test]
    fn pages_and_flows_expire() {
        let (pages, clock) = test_pages();
        let id = pages.create(purpose("alice")).unwrap();
        let (_, start) = pages.start(&id, "cookie").unwrap().ok().unwrap();
        let login = pages.start_login(&id, "cookie").unwrap().ok().unwrap();
        clock.pass(LIFETIME);
        assert_eq!(pages.finish(&start.state, "cookie"), Err(PageError::Unknown));
        assert_eq!(pages.finish_login(&login.state, "cookie"), Err(PageError::Unknown));
        assert_eq!(pages.get(&id, "cookie"), Err(PageError::Unknown));
    }

    #[test]
    fn a_login_is_of_one_browser_and_used_once_and_gives_the_page_to_it() {
        let (pages, _) = test_pages();
        let id = pages.create(purpose("alice")).unwrap();
        let start = |browser: &str| pages.start_login(&id, browser).unwrap();
        let (of_bob, login) = (start("bob").ok().unwrap(), start("cookie").ok().unwrap());
        assert_eq!(pages.get(&id, "bob"), Ok((purpose("alice"), false)), "to begin a login shows nothing");
        assert_eq!(pages.finish_login(&login.state, "bob"), Err(PageError::OtherBrowser));
        assert_eq!(pages.finish(&login.state, "cookie"), Err(PageError::Unknown), "it is not the state of a flow");
        let (page, of, verifier) = pages.finish_login(&login.state, "cookie").unwrap();
        assert_eq!((&page, of), (&id, purpose("alice")));
        assert_eq!(login.challenge, URL_SAFE_NO_PAD.encode(digest(&verifier)));
        assert_eq!(pages.finish_login(&login.state, "cookie"), Err(PageError::Unknown));
        assert_eq!(pages.admit(&id, "cookie"), Ok(()));
        assert_eq!(pages.get(&id, "cookie"), Ok((purpose("alice"), true)));
        assert_eq!(pages.admit(&id, "bob"), Err(PageError::OtherBrowser), "it is too late for another one");
        assert_eq!(start("bob").err(), Some(PageError::OtherBrowser));
        let (_, flow) = pages.start(&id, "cookie").unwrap().ok().unwrap();
        assert_eq!(
            pages.finish_login(&flow.state, "cookie"),
            Err(PageError::Unknown),
            "nor is a flow's one of a login"
        );
        assert!(pages.finish_login(&of_bob.state, "bob").is_ok(), "who that is decides its token");
    }

    #[test]
    fn logins_of_one_page_are_bounded() {
        let (pages, _) = test_pages();
        let id = pages.create(purpose("alice")).unwrap();
        for at in 0..100 {
            match pages.start_login(&id, "cookie").unwrap() {
                Ok(login) if at % 2 == 0 => assert!(pages.finish_login(&login.state, "cookie").is_ok()),
                Ok(_) => assert!(at < MAX_LOGINS),
                Err(error) => assert!(at >= MAX_LOGINS && error == PageError::Unknown),
            }
        }
    }

    #[test]
    fn one_principal_cannot_evict_the_pages_of_others() {
        let (pages, clock) = test_pages();
        let alice = pages.create(purpose("alice")).unwrap();
        let first = pages.create(purpose("bob")).unwrap();
        for _ in 0..MAX_OWN {
            clock.pass(Duration::from_millis(1));
            pages.create(purpose("bob")).unwrap();
        }
        assert!(pages.get(&alice, "").is_ok());
        assert_eq!(pages.get(&first, ""), Err(PageError::Unknown));
        for at in 0..MAX_ALL * 2 {
            pages.create(purpose(&format!("{at}"))).unwrap();
        }
        assert_eq!(pages.pages.lock().len(), MAX_ALL);
    }
}
