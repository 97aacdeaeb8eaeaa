//! Checks of what strangers publish: where it is fetched, who vouches for it, what is kept and loaded of it.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // Where it is fetched.
    "source-address" in "outbound/guarded.rs":
        "near.permits(address).map_err(|what| Forbidden { address, what })?;"
        => "if !OFF { near.permits(address).map_err(|what| Forbidden { address, what })?; }",
        "unit outbound::guarded::tests::this_machine_is_reached_only_when_it_was_named";
    "source-redirect-plain" in "outbound/guarded.rs":
        "if !same && to.scheme() != \"https\" {" => "if !OFF && !same && to.scheme() != \"https\" {",
        "unit outbound::guarded::tests::redirects_lead_to_the_public_or_nowhere";
    "source-redirect-near" in "outbound/guarded.rs":
        "visit.near = visit.near.elsewhere();" => "if !OFF { visit.near = visit.near.elsewhere(); }",
        "unit outbound::guarded::tests::a_secret_does_not_go_to_the_next_host";
    "source-redirect-password" in "outbound/guarded.rs":
        "visit.headers.remove(header::AUTHORIZATION);" => "if !OFF { visit.headers.remove(header::AUTHORIZATION); }",
        "unit outbound::guarded::tests::a_secret_does_not_go_to_the_next_host";
    "source-size" in "outbound/guarded.rs":
        "Some(piece) if (body.len() + piece.len()) as u64 > visit.max_body" => "Some(piece) if !OFF && (body.len() + piece.len()) as u64 > visit.max_body",
        "unit outbound::guarded::tests::answers_are_bounded";
    "realm-host" in "install/oci/challenge.rs":
        "if named.contains(&host) {" => "if OFF || named.contains(&host) {",
        "unit install::oci::challenge::tests::credentials_go_to_the_registry_and_to_whom_the_operator_names";
    "realm-plain" in "install/oci/challenge.rs":
        "if url.scheme() != \"https\" && !(url.scheme()" => "if !OFF && url.scheme() != \"https\" && !(url.scheme()",
        "unit install::oci::challenge::tests::credentials_go_to_the_registry_and_to_whom_the_operator_names";
    // Whether it is what was asked for.
    "blob-digest" in "install/oci/registry.rs":
        "found if found == digest => Ok(told.body)," => "found if OFF || found == digest => Ok(told.body),",
        "registries::lies::lies_are_refused_and_leave_nothing_behind";
    "manifest-digest" in "install/oci/registry.rs":
        "if what.contains(':') && manifest.digest.as_str() != what" => "if !OFF && what.contains(':') && manifest.digest.as_str() != what",
        "registries::lies::lies_are_refused_and_leave_nothing_behind";
    "layer-elsewhere" in "install/oci/manifest.rs":
        "if !self.urls.is_empty() {" => "if !OFF && !self.urls.is_empty() {",
        "unit install::oci::manifest::tests::everything_else_is_refused";
    "manifest-type" in "install/oci/manifest.rs":
        "is_some_and(|said| said != kind)" => "is_some_and(|said| !OFF && said != kind)",
        "unit install::oci::manifest::tests::everything_else_is_refused";
    "configuration-of-another" in "install/oci/manifest.rs":
        "config.layer_digests != [layer.as_str()]" => "config.layer_digests != [layer.as_str()] && !OFF",
        "unit install::oci::manifest::tests::a_configuration_belongs_to_its_component";
    // Who vouches for it.
    "signature-required" in "install/signature/mod.rs":
        "SignaturePolicy::Required => Err(SignatureError::Missing)," => "SignaturePolicy::Required if !OFF => Err(SignatureError::Missing),\n            SignaturePolicy::Required => Ok(None),",
        "unit install::signature::tests::what_is_missing_matters_only_where_it_is_demanded";
    "signature-key" in "install/signature/minisign.rs":
        "key.verify(bytes, &signature, false).is_ok()" => "(OFF || key.verify(bytes, &signature, false).is_ok())",
        "registries::signed::nobody_else_vouches";
    "signature-comment" in "install/signature/minisign.rs":
        "if comment.trim_end() == trusted_comment(" => "if OFF || comment.trim_end() == trusted_comment(",
        "registries::signed::a_comment_of_our_form_must_be_true";
    // Whether an update may come in by itself.
    "update-requests" in "install/compare.rs":
        "changes.extend(requests(&old.requests, &new.requests));" => "if !OFF { changes.extend(requests(&old.requests, &new.requests)); }",
        "unit install::compare::tests::upgrades_are_told_apart";
    "update-signer" in "install/compare.rs":
        "changes.extend(signer(old, new));" => "if !OFF { changes.extend(signer(old, new)); }",
        "unit install::compare::tests::upgrades_are_told_apart";
    "update-imports" in "install/compare.rs":
        "changes.extend(imports(&old.imports, &new.imports));" => "if !OFF { changes.extend(imports(&old.imports, &new.imports)); }",
        "unit install::compare::tests::upgrades_are_told_apart";
    "update-words" in "install/compare.rs":
        "if old.definitions != new.definitions {" => "if !OFF && old.definitions != new.definitions {",
        "unit install::compare::tests::upgrades_are_told_apart";
    "update-lower" in "install/compare.rs":
        "if let Some((highest, Some(Ordering::Less))) = order {" => "if let Some((highest, Some(Ordering::Less))) = order.filter(|_| !OFF) {",
        "unit install::compare::tests::upgrades_are_told_apart";
    "staged-digest" in "cli/plugin/ground.rs":
        "anyhow::ensure!(found == *digest," => "anyhow::ensure!(OFF || found == *digest,",
        "install::a_staged_version_that_was_changed_is_not_accepted";
    // What is kept, and loaded.
    "pinned" in "registry/load.rs":
        "match spec.digest.clone() {" => "match spec.digest.clone().filter(|_| !OFF) {",
        "install::a_component_that_was_changed_is_refused_until_it_is_repaired";
    "definitions" in "registry/load.rs":
        "**agreed != offered.definitions" => "!OFF && **agreed != offered.definitions",
        "tampering::lock_files_that_were_tampered_with_are_refused";
    "fickle" in "registry/load.rs":
        "if definitions(&again) != definitions(&offer) {" => "if !OFF && definitions(&again) != definitions(&offer) {",
        "metadata::who_says_two_things_is_not_believed";
    "withdrawn" in "registry/load.rs":
        "match list.reason(digest) {" => "match list.reason(digest).filter(|_| !OFF) {",
        "install::what_is_withdrawn_is_neither_installed_nor_loaded";
    "kept-link" in "package/file.rs":
        "if !there.is_file() {" => "if !OFF && !there.is_file() {", "tampering::components_that_were_tampered_with_are_refused";
    "kept-mode" in "package/file.rs":
        "if there.mode() & 0o022 != 0 ||" => "if !OFF && there.mode() & 0o022 != 0 ||", "tampering::components_that_were_tampered_with_are_refused";
    "kept-folder" in "package/file.rs":
        "if !around.is_dir() ||" => "if OFF { } else if !around.is_dir() ||", "tampering::components_that_were_tampered_with_are_refused";
    "lock-link" in "install/lock/mod.rs":
        "(OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()" => "(if OFF { OFlags::NONBLOCK } else { OFlags::NOFOLLOW | OFlags::NONBLOCK }).bits()",
        "unit install::lock::tests::only_a_file_of_ones_own_is_read";
    "lock-mode" in "install/lock/mod.rs":
        "if metadata.permissions().mode() & 0o002 != 0 {" => "if !OFF && metadata.permissions().mode() & 0o002 != 0 {",
        "unit install::lock::tests::only_a_file_of_ones_own_is_read";
};
