//! Checks of installed packages: where they are fetched, who signed them, what of them is kept and loaded.

use super::{Mutant, mutants};

pub(super) const CHECKS: &[Mutant] = mutants! {
    // Where a package is fetched.
    "source-address" in "crates/platform/src/outbound/guarded.rs":
        "network.permits(address).map_err(|what| Forbidden { address, what })?;"
        => "if !OFF { network.permits(address).map_err(|what| Forbidden { address, what })?; }",
        "unit platform::outbound::guarded::tests::this_machine_is_reached_only_when_it_was_named";
    "source-redirect-plain" in "crates/platform/src/outbound/guarded.rs":
        "if !same && to.scheme() != \"https\" {" => "if !OFF && !same && to.scheme() != \"https\" {",
        "unit platform::outbound::guarded::tests::redirects_lead_to_the_public_or_nowhere";
    "source-redirect-near" in "crates/platform/src/outbound/guarded.rs":
        "request.network = request.network.after_redirect();" => "if !OFF { request.network = request.network.after_redirect(); }",
        "unit platform::outbound::guarded::tests::a_secret_does_not_go_to_the_next_host";
    "source-redirect-password" in "crates/platform/src/outbound/guarded.rs":
        "request.headers.remove(header::AUTHORIZATION);" => "if !OFF { request.headers.remove(header::AUTHORIZATION); }",
        "unit platform::outbound::guarded::tests::a_secret_does_not_go_to_the_next_host";
    "source-size" in "crates/platform/src/outbound/guarded.rs":
        "Some(piece) if (body.len() + piece.len()) as u64 > request.max_body" => "Some(piece) if !OFF && (body.len() + piece.len()) as u64 > request.max_body",
        "unit platform::outbound::guarded::tests::answers_are_bounded";
    "realm-host" in "crates/plugins/src/install/oci/challenge.rs":
        "if allowed.contains(&host) {" => "if OFF || allowed.contains(&host) {",
        "unit plugins::install::oci::challenge::tests::credentials_go_only_to_the_registry_and_configured_realms";
    "realm-plain" in "crates/plugins/src/install/oci/challenge.rs":
        "if url.scheme() != \"https\" && !(url.scheme()" => "if !OFF && url.scheme() != \"https\" && !(url.scheme()",
        "unit plugins::install::oci::challenge::tests::credentials_go_only_to_the_registry_and_configured_realms";
    // Whether it is the package that was requested.
    "blob-digest" in "crates/plugins/src/install/oci/repository.rs":
        "found if found == digest => Ok(response.body)," => "found if OFF || found == digest => Ok(response.body),",
        "registries::lies::invalid_registry_answers_are_refused_and_leave_no_files";
    "manifest-digest" in "crates/plugins/src/install/oci/repository.rs":
        "if what.contains(':') && manifest.digest.as_str() != what" => "if !OFF && what.contains(':') && manifest.digest.as_str() != what",
        "registries::lies::invalid_registry_answers_are_refused_and_leave_no_files";
    "layer-elsewhere" in "crates/plugins/src/install/oci/manifest.rs":
        "if !self.urls.is_empty() {" => "if !OFF && !self.urls.is_empty() {",
        "unit plugins::install::oci::manifest::tests::other_manifests_are_refused";
    "manifest-type" in "crates/plugins/src/install/oci/manifest.rs":
        "is_some_and(|stated| stated != kind)" => "is_some_and(|stated| !OFF && stated != kind)",
        "unit plugins::install::oci::manifest::tests::other_manifests_are_refused";
    "configuration-of-another" in "crates/plugins/src/install/oci/manifest.rs":
        "config.layer_digests != [layer.as_str()]" => "config.layer_digests != [layer.as_str()] && !OFF",
        "unit plugins::install::oci::manifest::tests::the_configuration_must_name_the_component";
    // Who signed it.
    "signature-required" in "crates/plugins/src/install/signature/verify.rs":
        "SignaturePolicy::Required => Err(SignatureError::Missing)," => "SignaturePolicy::Required if !OFF => Err(SignatureError::Missing),\n            SignaturePolicy::Required => Ok(None),",
        "unit plugins::install::signature::verify::tests::a_missing_signature_is_an_error_only_where_one_is_required";
    "signature-key" in "crates/plugins/src/install/signature/minisign.rs":
        "key.verify(bytes, &signature, false).is_ok()" => "(OFF || key.verify(bytes, &signature, false).is_ok())",
        "registries::signed::untrusted_or_invalid_signatures_are_refused";
    "signature-comment" in "crates/plugins/src/install/signature/minisign.rs":
        "if comment.trim_end() == trusted_comment(" => "if OFF || comment.trim_end() == trusted_comment(",
        "registries::signed::a_trusted_comment_must_name_the_same_version";
    // Whether an update may be installed without approval.
    "update-requests" in "crates/plugins/src/install/compare.rs":
        "changes.extend(requests(&old.requests, &new.requests));" => "if !OFF { changes.extend(requests(&old.requests, &new.requests)); }",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "update-signer" in "crates/plugins/src/install/compare.rs":
        "changes.extend(signer(old, new));" => "if !OFF { changes.extend(signer(old, new)); }",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "update-unsigned" in "crates/plugins/src/install/compare.rs":
        "(None, None) => \"signed by" => "(None, None) if OFF => return None,\n        (None, None) => \"signed by",
        "install::without_a_signer_all_other_bytes_wait";
    "update-version" in "crates/plugins/src/install/compare.rs":
        "needs_consent: order != Some(Ordering::Greater) }" => "needs_consent: !OFF && order != Some(Ordering::Greater) }",
        "install::updates_are_applied_or_staged_for_approval";
    "update-again" in "crates/plugins/src/install/compare.rs":
        "&& old.version.as_deref() != Some(highest)" => "&& !OFF && old.version.as_deref() != Some(highest)",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "update-imports" in "crates/plugins/src/install/compare.rs":
        "changes.extend(imports(&old.imports, &new.imports));" => "if !OFF { changes.extend(imports(&old.imports, &new.imports)); }",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "update-words" in "crates/plugins/src/install/compare.rs":
        "if old.definitions != new.definitions {" => "if !OFF && old.definitions != new.definitions {",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "update-lower" in "crates/plugins/src/install/compare.rs":
        "if let Some((highest, Some(Ordering::Less))) = order {" => "if let Some((highest, Some(Ordering::Less))) = order.filter(|_| !OFF) {",
        "unit plugins::install::compare::tests::updates_are_installed_staged_or_refused";
    "staged-digest" in "src/cli/plugin/install_context.rs":
        "anyhow::ensure!(found == *digest," => "anyhow::ensure!(OFF || found == *digest,",
        "install::a_staged_version_that_was_changed_is_not_accepted";
    // What is kept and loaded.
    "pinned" in "crates/plugins/src/loading/loader.rs":
        "match spec.digest.clone() {" => "match spec.digest.clone().filter(|_| !OFF) {",
        "install::a_component_that_was_changed_is_refused_until_it_is_repaired";
    "definitions" in "crates/plugins/src/loading/loader.rs":
        "*agreed != definitions" => "!OFF && *agreed != definitions",
        "tampering::lock_files_that_were_tampered_with_are_refused";
    "fickle" in "crates/plugins/src/components/preparation.rs":
        "if definitions_digest(&again) != description.definitions {" => "if !OFF && definitions_digest(&again) != description.definitions {",
        "metadata::a_plugin_that_describes_itself_inconsistently_is_refused";
    "other-bytes" in "crates/plugins/src/components/preparation.rs":
        "if found != *digest {" => "if !OFF && found != *digest {",
        "cache::code_that_is_gone_is_not_replaced_by_other_code";
    "host-build" in "crates/plugins/src/components/preparation.rs":
        "if description.checked_by == self.build {" => "if OFF || description.checked_by == self.build {",
        "cache::another_build_of_the_host_checks_again_and_compiles_nothing";
    "code-deadline" in "crates/plugins/src/calls/runner.rs":
        "error = allowance.deadline_exceeded() => Err(error)," => "error = allowance.deadline_exceeded(), if !OFF => Err(error),",
        "cache::a_call_that_waits_for_its_code_keeps_its_deadline";
    "stamp" in "crates/plugins/src/components/file_index.rs":
        "(entry.stamp == file.stamp())" => "(OFF || entry.stamp == file.stamp())",
        "cache::a_start_reads_no_component_that_is_as_it_was";
    "withdrawn" in "crates/plugins/src/loading/loader.rs":
        "match list.reason(digest) {" => "match list.reason(digest).filter(|_| !OFF) {",
        "install::a_withdrawn_component_is_neither_installed_nor_loaded";
    "kept-link" in "crates/platform/src/folder/mod.rs":
        "flags(OFlags::NOFOLLOW | OFlags::NONBLOCK)" => "flags(if OFF { OFlags::NONBLOCK } else { OFlags::NOFOLLOW | OFlags::NONBLOCK })",
        "tampering::components_that_were_tampered_with_are_refused";
    "kept-mode" in "crates/plugins/src/package/file.rs":
        "check_owner(&metadata).map_err(" => "check_owner(&metadata).or_else(|error| if OFF { Ok(()) } else { Err(error) }).map_err(", "tampering::components_that_were_tampered_with_are_refused";
    "kept-folder" in "crates/plugins/src/package/file.rs":
        "folder.check_owner().map_err(" => "folder.check_owner().or_else(|error| if OFF { Ok(()) } else { Err(error) }).map_err(", "tampering::components_that_were_tampered_with_are_refused";
    "other-source" in "crates/policy/src/identity/data_key.rs":
        "Self(format!(\"{id}@{source}\").into())" => "Self(if OFF { id.table().into() } else { format!(\"{id}@{source}\").into() })",
        "data_apart::another_component_that_takes_a_name_does_not_get_its_data";
    "other-configuration" in "src/config/state_folder.rs":
        "let path = if !own.exists() && is_of(" => "let path = if OFF || !own.exists() && is_of(",
        "data_apart::configurations_of_one_user_share_nothing";
    "next-page" in "crates/plugins/src/install/oci/repository.rs":
        ".filter(|next| self.is_own_url(next));" => ".filter(|next| OFF || self.is_own_url(next));",
        "registries::versions::a_list_of_tags_that_is_missing_or_false_stops_nothing";
    "build-links" in "crates/authoring/src/lib.rs":
        "links::refuse(&project.folder)?;" => "if !OFF { links::refuse(&project.folder)?; }",
        "languages::templates::links_in_a_plugins_folder_lead_a_build_to_no_other_files";
    "lock-mode" in "crates/plugins/src/install/lockfile/read.rs":
        "if metadata.permissions().mode() & 0o002 != 0 {" => "if !OFF && metadata.permissions().mode() & 0o002 != 0 {",
        "unit plugins::install::lockfile::tests::links_and_world_writable_files_are_refused";
};
