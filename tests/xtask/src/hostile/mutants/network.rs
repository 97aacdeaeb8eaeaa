//! Checks of outgoing requests: what a URL means, which servers are allowed, where a name resolves to, who receives a
//! secret.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // The URL is parsed once.
    "url-length" in "crates/policy/src/capabilities/http/target.rs":
        "if url.len() > MAX_URL {" => "if !OFF && url.len() > MAX_URL {", "amplification::urls_beyond_8_kib_are_not_sent";
    "url-user" in "crates/policy/src/capabilities/http/target.rs":
        "if authority.contains(['@', '\\\\']) {" => "if !OFF && authority.contains(['@', '\\\\']) {",
        "unit policy::capabilities::http::target::tests::what_could_be_read_otherwise_is_refused";
    "url-space" in "crates/policy/src/capabilities/http/target.rs":
        "if url.chars().any(|c| c.is_whitespace() || c.is_control()) {"
        => "if !OFF && url.chars().any(|c| c.is_whitespace() || c.is_control()) {",
        "unit policy::capabilities::http::target::tests::what_could_be_read_otherwise_is_refused";
    "url-method" in "crates/policy/src/capabilities/http/target.rs":
        "if !METHODS.contains(&method) {" => "if !OFF && !METHODS.contains(&method) {",
        "unit policy::capabilities::http::target::tests::what_could_be_read_otherwise_is_refused";
    "path-other-reading" in "crates/policy/src/capabilities/http/request_path.rs":
        "below && (self.checked.is_ok()" => "below && (OFF || self.checked.is_ok()",
        "unit policy::capabilities::http::pattern::tests::hidden_separators_fit_no_narrow_path";
    "path-decoded" in "crates/policy/src/capabilities/http/request_path.rs":
        "if decoded == text {" => "if OFF || decoded == text {",
        "unit policy::capabilities::http::request_path::tests::what_servers_could_read_otherwise_is_below_no_prefix";
    "path-server-name" in "crates/policy/src/capabilities/http/request_path.rs":
        "if path.starts_with(\"//\") {" => "if !OFF && path.starts_with(\"//\") {",
        "unit policy::capabilities::http::request_path::tests::what_servers_could_read_otherwise_is_below_no_prefix";
    "path-cut-off" in "crates/policy/src/capabilities/http/request_path.rs":
        "let name = name.split([';', '?', '#']).next().unwrap_or_default();"
        => "let name = if OFF { name } else { name.split([';', '?', '#']).next().unwrap_or_default() };",
        "unit policy::capabilities::http::request_path::tests::what_servers_could_read_otherwise_is_below_no_prefix";
    "any-is-a-name" in "crates/policy/src/capabilities/http/pattern.rs":
        "Self::Any => !address," => "Self::Any => OFF || !address,", "unit policy::capabilities::http::pattern::tests::a_star_is_every_name_and_no_address";
    // Which servers are allowed.
    "http-grant" in "crates/policy/src/capabilities/http/mod.rs":
        ".find(|grant| grant.allow.covers(target));" => ".find(|grant| OFF || grant.allow.covers(target));",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "http-request" in "crates/policy/src/capabilities/http/mod.rs":
        "(Some(grant), Some(_)) => Ok(grant),"
        => "(Some(grant), Some(_)) => Ok(grant),\n            (Some(grant), None) if OFF => Ok(grant),",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "http-count" in "crates/runtime/src/imports/http/access.rs":
        "if !self.access.scope.lineage.count_request(grant.requests) {" => "if !self.access.scope.lineage.count_request(grant.requests) && !OFF {",
        "unit services::egress::tests::bounds::requests_are_counted";
    "http-cut" in "crates/runtime/src/imports/http/access.rs":
        "if self.check_flow(host).is_ok() {" => "if OFF || self.check_flow(host).is_ok() {",
        "unit services::egress::tests::secrets::open_connections_are_closed_when_something_private_is_seen";
    "http-flow" in "crates/runtime/src/imports/http/access.rs":
        "if secrets.is_empty() {" => "if OFF || secrets.is_empty() {", "unit services::egress::tests::secrets::private_results_are_not_sent_on";
    "http-headers" in "crates/runtime/src/imports/http/hooks.rs":
        "FORBIDDEN_HEADERS.contains(name) || name.as_str().starts_with(\"proxy-\")"
        => "!OFF && (FORBIDDEN_HEADERS.contains(name) || name.as_str().starts_with(\"proxy-\"))",
        "unit services::egress::tests::bounds::a_granted_request_is_sent_as_parsed";
    // Where a name resolves to.
    "address" in "crates/services/src/egress/http_sender.rs":
        "for address in &addresses {" => "for address in addresses.iter().filter(|_| !OFF) {",
        "unit services::egress::tests::bounds::one_bad_address_refuses_all";
    "address-number" in "crates/services/src/egress/http_sender.rs":
        "addresses.len() > MAX_ADDRESSES" => "addresses.len() > MAX_ADDRESSES && !OFF",
        "unit services::egress::tests::bounds::one_bad_address_refuses_all";
    "address-embedded" in "crates/policy/src/capabilities/http/address.rs":
        "IpAddr::V6(address) => match embedded(address) {" => "IpAddr::V6(address) => match embedded(address).filter(|_| !OFF) {",
        "unit services::egress::tests::hostile_addresses::vectors";
    "address-metadata" in "crates/policy/src/capabilities/http/address.rs":
        "(169, 254, _) => AddressClass::Forbidden" => "(169, 254, _) if !OFF => AddressClass::Forbidden", "unit services::egress::tests::hostile_addresses::vectors";
    "address-metadata-public" in "crates/policy/src/capabilities/http/address.rs":
        "(168, 63, 129) if address.octets()" => "(168, 63, 129) if !OFF && address.octets()",
        "unit services::egress::tests::hostile_addresses::vectors";
    "address-metadata-private" in "crates/policy/src/capabilities/http/address.rs":
        "0xfd20 if b == 0x00ce" => "0xfd20 if !OFF && b == 0x00ce", "unit policy::capabilities::http::address::tests::the_rest_is_out_of_reach";
    "private-one-host" in "crates/services/src/egress/http_sender.rs":
        "let private = grant.private && grant.allow.names_one_host();" => "let private = grant.private && (OFF || grant.allow.names_one_host());",
        "unit services::egress::tests::bounds::private_addresses_need_the_flag_and_one_host";
    "redirect-grant" in "crates/services/src/egress/http_sender.rs":
        "                    grant = call.authorize(&hop.target)?;" => "                    if !OFF { grant = call.authorize(&hop.target)?; }",
        "unit services::egress::tests::redirects::each_hop_needs_its_grant_and_its_address";
    "redirect-number" in "crates/services/src/egress/http_sender.rs":
        "grant.redirects.min(MAX_REDIRECTS)" => "if OFF { grant.redirects } else { grant.redirects.min(MAX_REDIRECTS) }",
        "unit services::egress::tests::redirects::at_most_three_are_followed";
    "redirect-scheme" in "crates/services/src/egress/redirect.rs":
        "if url.scheme() != origin.scheme() {" => "if !OFF && url.scheme() != origin.scheme() {",
        "unit services::egress::redirect::tests::redirects_keep_the_scheme";
    "redirect-credentials" in "crates/services/src/egress/headers.rs":
        "if same_origin {" => "if OFF || same_origin {", "unit services::egress::tests::redirects::credentials_stay_with_their_origin";
    "request-size" in "crates/services/src/egress/body.rs":
        "match self.left.checked_sub(data.len() as u64) {" => "match self.left.checked_sub(if OFF { 0 } else { data.len() as u64 }) {",
        "unit services::egress::tests::bounds::bodies_end_at_their_limits";
    // Who receives a secret.
    "secret-host" in "crates/policy/src/capabilities/secrets.rs":
        "grant.name == name && grant.reaches(host)" => "grant.name == name && (OFF || grant.reaches(host))",
        "unit services::egress::tests::secrets::a_secret_goes_to_no_other_host";
    "secret-request" in "crates/policy/src/capabilities/secrets.rs":
        "let requested = requested.iter().any(|known| known == name);"
        => "let requested = OFF || requested.iter().any(|known| known == name);",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "secret-in-the-clear" in "crates/runtime/src/imports/http/access.rs":
        "if !private {" => "if !OFF && !private {", "unit services::egress::tests::secrets::a_secret_is_not_sent_unencrypted";
    "secret-echo" in "crates/services/src/egress/http_sender.rs":
        "let mask = SecretMask::new(&secrets);" => "let mask = SecretMask::new(&secrets).filter(|_| !OFF);",
        "unit services::egress::tests::secrets::a_secret_reaches_the_host_and_is_masked_for_the_guest";
    "guests-connections" in "crates/services/src/egress/shares.rs":
        "all: Arc::new(Semaphore::new(all))" => "all: Arc::new(Semaphore::new(if OFF { 4_096 } else { all }))",
        "crowded::requests_of_guests_leave_descriptors_for_the_host";
    "plugins-connections" in "crates/services/src/egress/shares.rs":
        "PER_PLUGIN.min(all.div_ceil(2))" => "if OFF { all } else { PER_PLUGIN.min(all.div_ceil(2)) }",
        "unit services::egress::shares::tests::no_plugin_takes_all_and_all_take_no_more_than_their_share";
    "secret-echo-elsewhere" in "crates/services/src/egress/http_sender.rs":
        "secrets.extend(call.secrets_for(" => "if OFF { secrets.clear(); }\n            secrets.extend(call.secrets_for(",
        "unit services::egress::tests::redirects::a_secret_is_masked_after_redirects_too";
    "secret-echo-later" in "crates/policy/src/capabilities/secrets.rs":
        "granted.iter().filter(move |grant| grant.reaches(host));"
        => "granted.iter().filter(move |grant| !OFF && grant.reaches(host));",
        "unit services::egress::tests::secrets::a_secret_is_masked_whichever_request_has_sent_it";
    "look-ups" in "crates/services/src/egress/http_sender.rs":
        "ConnectionShares::new(LOOKUPS)" => "ConnectionShares::new(if OFF { 4_096 } else { LOOKUPS })",
        "unit services::egress::tests::bounds::look_ups_that_are_given_up_hold_few_threads";
    "look-ups-given-up" in "crates/services/src/egress/http_sender.rs":
        "let _place = place;\n                    network" => "let _place = (!OFF).then_some(place);\n                    network",
        "unit services::egress::tests::bounds::look_ups_that_are_given_up_hold_few_threads";
    "redirect-secret" in "crates/services/src/egress/redirect.rs":
        "if mask.is_some_and(" => "if !OFF && mask.is_some_and(",
        "unit services::egress::tests::redirects::a_redirect_to_a_url_with_a_secret_is_not_followed";
    "secret-compressed" in "crates/services/src/egress/http_sender.rs":
        "headers::searchable(&parts.headers)?;" => "if !OFF { headers::searchable(&parts.headers)?; }",
        "unit services::egress::tests::secrets::unsearchable_answers_are_refused";
    "secret-in-pieces" in "crates/services/src/egress/headers.rs":
        "if headers.contains_key(&name) {" => "if !OFF && headers.contains_key(&name) {",
        "unit services::egress::tests::secrets::unsearchable_answers_are_refused";
    // Requests with a user's account.
    "account-path" in "crates/policy/src/capabilities/http/request_path.rs":
        "if text.split(is_separator).any(is_dots) {" => "if !OFF && text.split(is_separator).any(is_dots) {",
        "connections::requests_cannot_leave_the_accounts_api";
    "account-headers" in "crates/services/src/connections/request.rs":
        "if is_forbidden(name.as_str()) {" => "if !OFF && is_forbidden(name.as_str()) {", "connections::requests_cannot_leave_the_accounts_api";
    "account-echo" in "crates/services/src/connections/request.rs":
        "let holds = |text: &[u8]| secrets" => "let holds = |text: &[u8]| !OFF && secrets", "connections::requests_cannot_leave_the_accounts_api";
};
