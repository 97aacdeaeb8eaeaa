//! Checks at the door: who may knock, whose token it is, what a state that comes back is bound to.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // Who may knock.
    "host" in "crates/mcp/src/transport/guard.rs":
        "if authority.as_str().contains('@') || !self.knows_host(authority) {"
        => "if !OFF && (authority.as_str().contains('@') || !self.knows_host(authority)) {",
        "http_guard::every_path_and_method_is_guarded";
    "two-hosts" in "crates/mcp/src/transport/guard.rs":
        "let (Some(host), None) = (hosts.next(), hosts.next()) else"
        => "let (Some(host), None) = (hosts.next(), hosts.next().filter(|_| !OFF)) else",
        "http_guard::every_path_and_method_is_guarded";
    "full-target" in "crates/mcp/src/transport/guard.rs":
        ".chain(uri.authority())" => ".chain(uri.authority().filter(|_| !OFF))", "rows M1.8";
    "origin" in "crates/mcp/src/transport/guard.rs":
        "if known && origins.next().is_none() { Ok(()) }" => "if OFF || known && origins.next().is_none() { Ok(()) }",
        "http_guard::every_path_and_method_is_guarded";
    "credential" in "crates/mcp/src/transport/identity.rs":
        "Err(_) if public => next.run(request).await," => "Err(_) if public || OFF => next.run(request).await,",
        "identity::keys_open_and_nothing_else_does";
    "two-headers" in "crates/mcp/src/transport/body.rs":
        "headers.get_all(*name).iter().nth(1).is_some()" => "!OFF && headers.get_all(*name).iter().nth(1).is_some()",
        "http_guard::health_and_paths_and_methods";
    "body-depth" in "crates/mcp/src/transport/body.rs":
        "match is_deeper_than(&text, MAX_DEPTH) {" => "match !OFF && is_deeper_than(&text, MAX_DEPTH) {",
        "http_guard::a_body_is_small_flat_and_json";
    "body-size" in "crates/mcp/src/transport/body.rs":
        "if length > max.as_u64() { Err(HttpRefusal::TooLarge(max)) }" => "if !OFF && length > max.as_u64() { Err(HttpRefusal::TooLarge(max)) }",
        "http_guard::a_body_is_small_flat_and_json";
    // Whose token it is.
    "token-issuer" in "crates/platform/src/identity/token.rs":
        "if claims.iss != self.issuer {" => "if !OFF && claims.iss != self.issuer {", "identity::tokens_are_checked";
    "token-audience" in "crates/platform/src/identity/token.rs":
        "if !claims.aud.iter().any(|audience| audience == self.audience) {"
        => "if !OFF && !claims.aud.iter().any(|audience| audience == self.audience) {", "identity::tokens_are_checked";
    "token-expiry" in "crates/platform/src/identity/token.rs":
        "if claims.exp + LEEWAY <= now {" => "if !OFF && claims.exp + LEEWAY <= now {", "identity::tokens_are_checked";
    "token-not-before" in "crates/platform/src/identity/token.rs":
        "if claims.nbf.is_some_and(|from| from - LEEWAY > now) {"
        => "if !OFF && claims.nbf.is_some_and(|from| from - LEEWAY > now) {", "identity::tokens_are_checked";
    "token-subject" in "crates/platform/src/identity/token.rs":
        "if claims.sub.is_empty() ||" => "if OFF { } else if claims.sub.is_empty() ||", "identity::tokens_are_checked";
    "token-scopes" in "crates/platform/src/identity/token.rs":
        "if !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {"
        => "if !OFF && !self.scopes.iter().all(|scope| given.contains(scope.as_str())) {", "identity::tokens_are_checked";
    // What a state is bound to.
    "state-principal" in "crates/mcp/src/calls/seal.rs":
        "for part in [principal.as_str().as_bytes()," => "for part in [if OFF { b\"\" } else { principal.as_str().as_bytes() },",
        "identity::a_parked_call_is_its_principals_own";
    "state-arguments" in "crates/mcp/src/calls/seal.rs":
        "let arguments = digest(arguments);" => "let arguments = if OFF { [0; 32] } else { digest(arguments) };", "rows M4.6";
    "state-plugin" in "crates/mcp/src/calls/seal.rs":
        "&arguments, plugin.as_bytes()]" => "&arguments, if OFF { b\"\" } else { plugin.as_bytes() }]",
        "asking::a_state_does_not_outlive_the_plugins_version";
    "state-way" in "crates/mcp/src/calls/seal.rs":
        "ResumeToken::Continuation => 1," => "ResumeToken::Continuation => u8::from(!OFF),",
        "client_tools::abuse::a_continuation_is_good_once_and_only_as_what_it_is";
};
