//! Checks on the way to other servers: what a URL means, who may be asked, where a name leads, who is told a secret.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // What is asked for, read once.
    "url-user" in "policy/http_url.rs":
        "if authority.contains(['@', '\\\\']) {" => "if !OFF && authority.contains(['@', '\\\\']) {",
        "unit policy::http_url::tests::what_could_be_read_otherwise_is_refused";
    "url-space" in "policy/http_url.rs":
        "if url.chars().any(|c| c.is_whitespace() || c.is_control()) {"
        => "if !OFF && url.chars().any(|c| c.is_whitespace() || c.is_control()) {",
        "unit policy::http_url::tests::what_could_be_read_otherwise_is_refused";
    "url-method" in "policy/http_url.rs":
        "if !HttpPattern::knows(method) {" => "if !OFF && !HttpPattern::knows(method) {",
        "unit policy::http_url::tests::what_could_be_read_otherwise_is_refused";
    "hidden-slash" in "policy/http.rs":
        "&& (plain || self.path == \"/\")" => "&& (OFF || plain || self.path == \"/\")",
        "unit policy::http::tests::hidden_separators_fit_no_narrow_path";
    "any-is-a-name" in "policy/http.rs":
        "Self::Any => !address," => "Self::Any => OFF || !address,", "unit policy::http::tests::a_star_is_every_name_and_no_address";
    // Who may be asked.
    "http-grant" in "policy/authority.rs":
        ".find(|grant| grant.allow.covers(target));" => ".find(|grant| OFF || grant.allow.covers(target));",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "http-request" in "policy/authority.rs":
        "let requested = self.requested.http.iter().any(|pattern| pattern.covers(target));"
        => "let requested = OFF || self.requested.http.iter().any(|pattern| pattern.covers(target));",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "http-count" in "imports/http/mod.rs":
        "if !self.0.lineage.request(grant.requests) {" => "if !self.0.lineage.request(grant.requests) && !OFF {",
        "unit egress::tests::bounds::requests_are_counted";
    "http-flow" in "imports/http/mod.rs":
        "if secrets.is_empty() {" => "if OFF || secrets.is_empty() {", "unit egress::tests::told::private_results_are_not_sent_on";
    "http-headers" in "imports/http/wasi.rs":
        "OURS.contains(name) || name.as_str().starts_with(\"proxy-\")"
        => "!OFF && (OURS.contains(name) || name.as_str().starts_with(\"proxy-\"))",
        "unit egress::tests::bounds::what_is_granted_is_sent_as_it_was_read";
    // Where a name leads.
    "address" in "egress/mod.rs":
        "for address in &addresses {" => "for address in addresses.iter().filter(|_| !OFF) {",
        "unit egress::tests::bounds::one_bad_address_refuses_all";
    "address-number" in "egress/mod.rs":
        "addresses.len() > MAX_ADDRESSES" => "addresses.len() > MAX_ADDRESSES && !OFF",
        "unit egress::tests::bounds::one_bad_address_refuses_all";
    "address-embedded" in "policy/address.rs":
        "IpAddr::V6(address) => match embedded(address) {" => "IpAddr::V6(address) => match embedded(address).filter(|_| !OFF) {",
        "unit egress::tests::figure::vectors";
    "address-metadata" in "policy/address.rs":
        "(169, 254, _) => Reach::Never" => "(169, 254, _) if !OFF => Reach::Never", "unit egress::tests::figure::vectors";
    "private-one-host" in "egress/mod.rs":
        "let private = grant.private && grant.allow.names_one_host();" => "let private = grant.private && (OFF || grant.allow.names_one_host());",
        "unit egress::tests::bounds::private_needs_a_word_and_one_host";
    "redirect-grant" in "egress/mod.rs":
        "                    grant = call.decide(&hop.target)?;" => "                    if !OFF { grant = call.decide(&hop.target)?; }",
        "unit egress::tests::redirects::each_hop_needs_its_grant_and_its_address";
    "redirect-number" in "egress/mod.rs":
        "grant.redirects.min(MAX_REDIRECTS)" => "if OFF { grant.redirects } else { grant.redirects.min(MAX_REDIRECTS) }",
        "unit egress::tests::redirects::at_most_three_are_followed";
    "redirect-scheme" in "egress/redirect.rs":
        "if url.scheme() != origin.scheme() {" => "if !OFF && url.scheme() != origin.scheme() {",
        "unit egress::redirect::tests::the_scheme_stays";
    "redirect-credentials" in "egress/headers.rs":
        "if same_origin {" => "if OFF || same_origin {", "unit egress::tests::redirects::credentials_stay_with_their_origin";
    "request-size" in "egress/body.rs":
        "match self.left.checked_sub(data.len() as u64) {" => "match self.left.checked_sub(if OFF { 0 } else { data.len() as u64 }) {",
        "unit egress::tests::bounds::bodies_end_at_their_caps";
    // Who is told a secret.
    "secret-host" in "policy/authority.rs":
        "grant.name == name && grant.reaches(host)" => "grant.name == name && (OFF || grant.reaches(host))",
        "unit egress::tests::told::nobody_else_is_told";
    "secret-request" in "policy/authority.rs":
        "let requested = self.requested.secrets.iter().any(|known| known == name);"
        => "let requested = OFF || self.requested.secrets.iter().any(|known| known == name);",
        "unit policy::authority::tests::each_key_bounds_the_other";
    "secret-in-the-clear" in "imports/http/mod.rs":
        "if !private {" => "if !OFF && !private {", "unit egress::tests::told::not_in_the_clear";
    "secret-echo" in "egress/mod.rs":
        "let mask = Mask::new(&secrets);" => "let mask = Mask::new(&secrets).filter(|_| !OFF);",
        "unit egress::tests::told::the_host_is_told_and_the_guest_is_not";
    "secret-compressed" in "egress/mod.rs":
        "headers::searchable(&parts.headers)?;" => "if !OFF { headers::searchable(&parts.headers)?; }",
        "unit egress::tests::told::what_could_not_be_searched_is_refused";
    "secret-in-pieces" in "egress/headers.rs":
        "if headers.contains_key(&name) {" => "if !OFF && headers.contains_key(&name) {",
        "unit egress::tests::told::what_could_not_be_searched_is_refused";
    // What is asked with an account of the user's.
    "account-path" in "connections/request.rs":
        "if name == b\".\" || name == b\"..\" {" => "if !OFF && (name == b\".\" || name == b\"..\") {",
        "connections::requests_stay_with_the_account";
    "account-headers" in "connections/request.rs":
        "if refused(name.as_str()) {" => "if !OFF && refused(name.as_str()) {", "connections::requests_stay_with_the_account";
    "account-echo" in "connections/request.rs":
        "let holds = |text: &[u8]| secrets" => "let holds = |text: &[u8]| !OFF && secrets", "connections::requests_stay_with_the_account";
};
