//! The authenticator with tokens and keys that are made here. The issuer is a map of documents, and time passes only if a test
//! says so.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod issuers;

use super::super::jwks::DocumentFetcher;
use super::super::settings::OAuthSettings;
use super::*;
use crate::clock::ManualClock;
use crate::outbound::Endpoint;
use crate::sync::Mutex;
use async_trait::async_trait;
use futures::FutureExt as _;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use url::Url;

const ISSUER: &str = "https://login.example.com/realm";
const AUDIENCE: &str = "https://tools.example.com/mcp";
const NOW: u64 = 1_800_000_000;

/// An RSA key whose private part signed one token and was deleted.
const RSA_MODULUS: &str = "\
    0Uv7Rq35iegxxi9D4D9oobqxdg2IpldSMSeJHhizB74cZfitDgp-_xZBehorOvsuQTLh2C3AfMw9UXhQDvjxRJBaFdFot3LW6nNW\
    xDAOGbx-4erGgWKI1J8NBud1FXAfSceqbmpA0h1nQpJ4euIFTRO8rnHaMX3HIAP75z0yYyUpxv9dT327TuFnR4i_VyPgb48ej1ER\
    z8_GvL5IDZabbEeGivq0YgggBAqEWvdX6FJfoCuseJMPFb62viIWtqxaJiP2tQCoj_ZMEQmOO_sumRoNMC7uB5w7C9NKXANAlyrb\
    EiB1fvJ6TIyjVh4YTBqNZk2Pi9s897kIwZ-PvtN2ZQ";

/// The token that this key signed: for alice, valid at [`NOW`].
const RSA_TOKEN: &str = "\
    eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29tL3JlYWxtIiwiYXVkIjo\
    iaHR0cHM6Ly90b29scy5leGFtcGxlLmNvbS9tY3AiLCJzdWIiOiJhbGljZSIsImV4cCI6MTgwMDAwMDMwMCwic2NvcGUiOiJ0b29\
    scyJ9.xWIyTBC3ZfFoO_0WbbZckuF2O5b5WoM46YOndn6j7RfQUYcMXlTefd06ybQtZqD6YHP70He7Cr1kFHvqkRBDmIskJnmvSw\
    aTVGOJ3M1S0eNqrueloX1Sdb0fJQXLd0HYhDwbHShyT8O6GCpoCqenCUXgGEXexGDiALNbMljG3PU2CBeJwfngxvy5gglyl_noXP\
    TH5ACmlKvPzoH_gLRJhhe3jCQUS_ecyXmwT62gwIJzlvO3xq4HM04FYV6AMt6xgRohFpX1L19MRZRhZ2Jx3TlnfAH6LqcLV-mLwu\
    v_pvFMfg8cB4UWsB7rr_2VPb-6XHerUsbLsGKgpsM4DvcDXA";

#[derive(Default)]
struct Issuer {
    documents: Mutex<HashMap<String, Value>>,
    asked: Mutex<Vec<String>>,
    hangs: AtomicBool,
}

#[async_trait]
impl DocumentFetcher for Issuer {
    async fn get(&self, url: Url) -> Result<Vec<u8>, String> {
        self.asked.lock().push(url.to_string());
        if self.hangs.load(Ordering::Relaxed) {
            pending::<()>().await;
        }
        let documents = self.documents.lock();
        documents.get(url.as_str()).map(|value| value.to_string().into_bytes()).ok_or_else(|| "status 404".into())
    }
}

/// An Ed25519 or P-256 key in PKCS #8: a fixed header and the secret bytes.
fn key(algorithm: Algorithm, secret: u8) -> EncodingKey {
    let frame: &[u8] = match algorithm {
        Algorithm::EdDSA => &[0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20],
        _ => &[
            0x30, 0x41, 2, 1, 0, 0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 8, 0x2a, 0x86, 0x48, 0xce,
            0x3d, 3, 1, 7, 4, 0x27, 0x30, 0x25, 2, 1, 1, 4, 0x20,
        ],
    };
    let der = [frame, &[secret; 32]].concat();
    if algorithm == Algorithm::EdDSA { EncodingKey::from_ed_der(&der) } else { EncodingKey::from_ec_der(&der) }
}

fn public(algorithm: Algorithm, secret: u8, id: &str) -> Value {
    let mut jwk = serde_json::to_value(Jwk::from_encoding_key(&key(algorithm, secret), algorithm).unwrap()).unwrap();
    jwk["kid"] = json!(id);
    jwk
}

fn claims() -> Value {
    json!({"iss": ISSUER, "aud": [AUDIENCE, "other"], "sub": "alice", "exp": NOW + 300, "nbf": NOW - 300, "scope": "a tools"})
}

fn sign(algorithm: Algorithm, secret: u8, id: &str, claims: &Value) -> String {
    let header = Header { kid: Some(id.into()), ..Header::new(algorithm) };
    jsonwebtoken::encode(&header, claims, &key(algorithm, secret)).unwrap()
}

fn good(claims: &Value) -> String {
    sign(Algorithm::EdDSA, 1, "ed", claims)
}

struct World {
    issuer: Arc<Issuer>,
    clock: Arc<ManualClock>,
    authenticator: Authenticator,
}

impl World {
    fn new() -> Self {
        Self::expecting(&[AUDIENCE], &[])
    }

    fn expecting(audience: &[&str], client_ids: &[&str]) -> Self {
        let issuer = Arc::new(Issuer::default());
        let clock = ManualClock::at(Duration::from_secs(NOW));
        let oauth = OAuthSettings {
            issuer: Endpoint::new(ISSUER).unwrap(),
            resource: Endpoint::new(AUDIENCE).unwrap(),
            audience: audience.iter().map(|&name| name.into()).collect(),
            client_ids: client_ids.iter().map(|&name| name.into()).collect(),
            jwks: None,
            required_scopes: vec!["tools".into()],
            login: None,
        };
        let tokens = TokenVerifier::new(&oauth, JwksCache::new(&oauth, issuer.clone(), clock.clone()), clock.clone());
        let authenticator = Authenticator {
            keys: ApiKeys::default(),
            tokens: Some(tokens),
            resource: Some(ProtectedResource::new(&oauth)),
        };
        let world = Self { issuer, clock, authenticator };
        world.serve(
            "https://login.example.com/.well-known/oauth-authorization-server/realm",
            json!({"issuer": ISSUER, "jwks_uri": "https://login.example.com/keys"}),
        );
        world.serve_keys(json!([public(Algorithm::EdDSA, 1, "ed"), public(Algorithm::ES256, 2, "ec")]));
        world
    }

    fn serve(&self, url: &str, document: Value) {
        self.issuer.documents.lock().insert(url.into(), document);
    }

    fn serve_keys(&self, keys: Value) {
        self.serve("https://login.example.com/keys", json!({"keys": keys}));
    }

    fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    fn fetches(&self) -> usize {
        self.issuer.asked.lock().iter().filter(|url| url.ends_with("/keys")).count()
    }

    async fn check(&self, token: &str) -> Result<Principal, AuthError> {
        self.authenticator.check(Some(&format!("Bearer {token}"))).await
    }
}

fn alice() -> Principal {
    Principal::from_source("oauth", "https://login.example.com/realm#alice")
}

#[tokio::test]
async fn good_tokens_of_each_kind() {
    let world = World::new();
    assert_eq!(world.check(&good(&claims())).await, Ok(alice()));
    assert_eq!(world.check(&sign(Algorithm::ES256, 2, "ec", &claims())).await, Ok(alice()));
    let mut spelt = claims();
    (spelt["scope"], spelt["scp"], spelt["aud"]) = (Value::Null, json!(["x", "tools"]), json!(AUDIENCE));
    assert_eq!(world.check(&good(&spelt)).await, Ok(alice()));
    assert_eq!(world.authenticator.check(Some(&format!("bEARER  {}", good(&claims())))).await, Ok(alice()));
    assert_eq!(world.fetches(), 1);
}

#[tokio::test]
async fn rsa_by_its_key_and_not_below_2048_bits() {
    let world = World::new();
    let jwk = |n: &str| json!({"kty": "RSA", "kid": "rsa", "alg": "RS256", "n": n, "e": "AQAB"});
    world.serve_keys(json!([jwk(RSA_MODULUS)]));
    assert_eq!(world.check(RSA_TOKEN).await, Ok(alice()));
    let world = World::new();
    world.serve_keys(json!([jwk(&RSA_MODULUS[..171])]));
    assert_eq!(
        world.check(RSA_TOKEN).await,
        Err(AuthError::Invalid("the token names a key that the issuer does not have".into()))
    );
}

#[tokio::test]
async fn wrong_claims() {
    let world = World::new();
    for (name, value, expected) in [
        ("iss", json!("https://login.example.com"), "another issuer"),
        ("iss", json!([ISSUER]), "missing"),
        (
            "aud",
            json!("https://tools.example.com"),
            "its aud is https://tools.example.com, and not https://tools.example.com/mcp",
        ),
        ("aud", json!(["a\"\n", "b", "c", "d", "e"]), "its aud is a?? or b or c or 2 more, and"),
        ("aud", json!("x".repeat(1000)), "xxx, and not"),
        ("aud", json!([]), "another server"),
        ("aud", Value::Null, "its aud is missing, and not https://tools.example.com/mcp"),
        ("aud", json!([1]), "of another type"),
        ("exp", json!(NOW - 31), "expired"),
        ("exp", Value::Null, "missing"),
        ("exp", json!("9999999999"), "missing"),
        ("exp", json!(-1e300), "expired"),
        ("nbf", json!(NOW + 31), "not valid yet"),
        ("sub", json!(""), "subject"),
        ("sub", json!("a\nb"), "subject"),
        ("sub", json!("x".repeat(257)), "subject"),
        ("sub", Value::Null, "missing"),
    ] {
        let mut claims = claims();
        claims[name] = value.clone();
        let Err(AuthError::Invalid(reason)) = world.check(&good(&claims)).await else { panic!("{name} = {value}") };
        assert!(reason.contains(expected), "{name} = {value}: {reason}");
    }
    for (name, value) in [("exp", json!(NOW - 29)), ("nbf", json!(NOW + 29))] {
        let mut claims = claims();
        claims[name] = value;
        assert_eq!(world.check(&good(&claims)).await, Ok(alice()), "clocks differ a little");
    }
    for scope in [json!("toolsx a"), json!(""), Value::Null] {
        let mut claims = claims();
        claims["scope"] = scope;
        assert_eq!(world.check(&good(&claims)).await, Err(AuthError::Scope));
    }
}

#[tokio::test]
async fn wrong_signatures() {
    use base64::Engine;
    let world = World::new();
    let base64 = |bytes: &[u8]| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    let token = good(&claims());
    let [_, payload, signature] = token.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let with_header = |header: Value| format!("{}.{payload}.{signature}", base64(header.to_string().as_bytes()));
    let secret = base64(public(Algorithm::EdDSA, 1, "ed")["x"].as_str().unwrap().as_bytes());
    let hmac = EncodingKey::from_secret(secret.as_bytes());
    let header = Header { kid: Some("ed".into()), ..Header::new(Algorithm::HS256) };
    for bad in [
        with_header(json!({"alg": "none", "kid": "ed"})),
        format!("{}.{payload}.", base64(json!({"alg": "none", "kid": "ed"}).to_string().as_bytes())),
        with_header(json!({"alg": "None", "kid": "ed"})),
        with_header(json!({"alg": "HS256", "kid": "ed"})),
        jsonwebtoken::encode(&header, &claims(), &hmac).unwrap(),
        with_header(json!({"alg": "ES256", "kid": "ed"})),
        with_header(json!({"alg": "EdDSA", "kid": "ec"})),
        with_header(json!({"alg": "EdDSA"})),
        with_header(json!({"alg": "EdDSA", "kid": "ed", "crit": ["x"]})),
        sign(Algorithm::EdDSA, 9, "ed", &claims()),
        sign(Algorithm::ES256, 1, "ed", &claims()),
        token.replace('.', ".."),
        token[..token.len() - 2].to_owned(),
        "a.b.c".into(),
        "..".into(),
        "x".repeat(MAX_CREDENTIAL + 1),
        String::new(),
    ] {
        assert!(matches!(world.check(&bad).await, Err(AuthError::Invalid(_))), "{bad}");
    }
    assert_eq!(world.authenticator.check(None).await, Err(AuthError::Missing));
    for header in ["", "Bearer", &token, &format!("Basic {token}")] {
        assert!(matches!(world.authenticator.check(Some(header)).await, Err(AuthError::Invalid(_))), "{header}");
    }
}

#[tokio::test]
async fn keys_come_and_go_and_are_asked_for_rarely() {
    let world = World::new();
    let rotated = sign(Algorithm::EdDSA, 3, "new", &claims());
    assert!(world.check(&rotated).await.is_err());
    world.serve_keys(json!([public(Algorithm::EdDSA, 3, "new")]));
    for _ in 0..100 {
        assert!(world.check(&rotated).await.is_err());
    }
    assert_eq!(world.fetches(), 1, "once in 30 s");
    world.pass(30);
    assert_eq!(world.check(&rotated).await, Ok(alice()));
    assert!(world.check(&good(&claims())).await.is_err(), "withdrawn");
    assert_eq!(world.fetches(), 2);
}

#[tokio::test]
async fn nobody_whose_key_is_known_waits_for_an_issuer_that_hangs() {
    let world = World::new();
    assert_eq!(world.check(&good(&claims())).await, Ok(alice()));
    world.issuer.hangs.store(true, Ordering::Relaxed);
    world.pass(60);
    let unknown = sign(Algorithm::EdDSA, 3, "new", &claims());
    let mut waiting = Box::pin(world.check(&unknown));
    assert!(futures::poll!(&mut waiting).is_pending());
    assert_eq!(world.check(&good(&claims())).now_or_never(), Some(Ok(alice())));
    // It does not wait either when all keys have to be fetched again.
    world.pass(60 * 60 - 60);
    let mut lasting = claims();
    lasting["exp"] = json!(NOW + 200_000);
    assert_eq!(world.check(&good(&lasting)).now_or_never(), Some(Ok(alice())));
}

/// Otherwise a client that disconnects quickly could prevent new keys from becoming known.
#[tokio::test]
async fn a_fetch_goes_on_though_nobody_waits_for_it() {
    let world = World::new();
    assert_eq!(world.check(&sign(Algorithm::EdDSA, 3, "new", &claims())).now_or_never(), None);
    assert_eq!(world.check(&good(&claims())).await, Ok(alice()));
    assert_eq!(world.fetches(), 1);
}

#[tokio::test]
async fn an_issuer_that_is_away_or_lies() {
    let world = World::new();
    world.issuer.documents.lock().clear();
    assert_eq!(world.check(&good(&claims())).await, Err(AuthError::Unavailable));
    let openid = "https://login.example.com/realm/.well-known/openid-configuration";
    for lie in [
        json!({"issuer": "https://evil.example", "jwks_uri": "https://login.example.com/keys"}),
        json!({"issuer": ISSUER, "jwks_uri": "http://login.example.com/keys"}),
        json!({"issuer": ISSUER, "jwks_uri": "http://127.0.0.1/keys"}),
        json!({"issuer": ISSUER}),
    ] {
        world.pass(30);
        world.serve(openid, lie.clone());
        assert_eq!(world.check(&good(&claims())).await, Err(AuthError::Unavailable), "{lie}");
    }
    world.serve(openid, json!({"issuer": ISSUER, "jwks_uri": "https://login.example.com/keys"}));
    world.serve_keys(
        json!([public(Algorithm::EdDSA, 1, "ed"), {"kty": "odd"}, 7, {"kty": "oct", "kid": "o", "k": "AAAA"}]),
    );
    world.pass(30);
    let lasting = |seconds: u64| {
        let mut claims = claims();
        claims["exp"] = json!(NOW + seconds);
        good(&claims)
    };
    assert_eq!(world.check(&lasting(200_000)).await, Ok(alice()));
    world.issuer.documents.lock().clear();
    world.pass(60 * 60);
    assert_eq!(world.check(&lasting(200_000)).await, Ok(alice()), "old keys are better than none");
    world.pass(24 * 60 * 60);
    assert_eq!(world.check(&lasting(200_000)).await, Err(AuthError::Unavailable), "but not for ever");
}

#[test]
fn challenges_lead_to_the_metadata() {
    let world = World::new();
    let resource = world.authenticator.resource().unwrap();
    let url = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";
    assert_eq!(
        AuthError::Missing.challenge(Some(resource)),
        format!("Bearer resource_metadata=\"{url}\", scope=\"tools\"")
    );
    assert!(
        AuthError::Scope
            .challenge(Some(resource))
            .starts_with("Bearer error=\"insufficient_scope\", resource_metadata")
    );
    assert_eq!(AuthError::Missing.challenge(None), "Bearer realm=\"portcullis\"");
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document: Value = serde_json::from_str(resource.document(path).unwrap()).unwrap();
        assert_eq!(document["resource"], AUDIENCE);
        assert_eq!(document["authorization_servers"], json!([ISSUER]));
    }
    assert!(resource.document("/.well-known/oauth-protected-resource/x").is_none());
}
