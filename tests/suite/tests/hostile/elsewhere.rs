//! Tests of the suite that cover a threat besides the rows here, and threats that are not covered yet.
//! `every_threat_is_covered` fails for a name that is not a test, and for a threat that is in both lists.

/// Tests by threat.
pub(super) const TESTS: &[(&str, &[&str])] = &[
    (
        "W8",
        &[
            "bombs::a_huge_function_body_is_bounded",
            "bombs::a_function_with_many_locals_is_bounded",
            "bombs::deeply_nested_blocks_are_bounded",
        ],
    ),
    (
        "W9",
        &[
            "malformed::a_truncated_component_is_refused",
            "malformed::a_component_with_changed_bytes_never_crashes_the_host",
            "cache::a_corrupted_entry_is_recompiled_and_never_loaded",
            "cache::a_symlink_in_the_cache_is_not_followed",
            "cache::a_cache_writable_by_others_is_refused",
            "reload::a_broken_version_changes_nothing",
        ],
    ),
    ("W10", &["hostile::files::no_path_leads_out", "hostile::files::no_race_leads_out"]),
    (
        "W15",
        &[
            "abuse::every_abuse_has_its_expected_outcome",
            "client_tools::chains::a_tool_that_already_runs_in_the_chain_is_refused",
        ],
    ),
    ("W16", &["client_tools::limits::ten_thousand_calls_end_at_the_limit"]),
    (
        "W17",
        &[
            "client_tools::chains::fuel_is_limited_to_what_the_chain_has_left",
            "client_tools::chains::cpu_time_is_limited_to_what_the_chain_has_left",
        ],
    ),
    (
        "W18",
        &[
            "isolation::a_spinning_guest_does_not_keep_others_waiting",
            "isolation::more_concurrent_calls_than_instances_end_with_an_error",
        ],
    ),
    (
        "W19",
        &[
            "cancel::cancelling_stops_a_spinning_guest",
            "cancel::cancelling_stops_the_whole_chain",
            "cancel::many_calls_cancelled_at_once_leave_nothing",
        ],
    ),
    (
        "M3",
        &[
            "identity::a_parked_call_is_resumed_only_by_its_own_principal",
            "identity::a_session_answers_only_its_own_principal",
            "live::a_channel_name_is_scoped_to_its_principal",
        ],
    ),
    ("M4", &["asking::parked_calls_expire", "asking::a_state_is_invalid_after_the_plugin_changes"]),
    ("M9", &["floods::a_guest_cannot_forge_log_records", "floods::a_guest_error_cannot_forge_log_records"]),
    (
        "M10",
        &[
            "model::the_hosts_model_needs_a_grant_and_a_client_without_a_model",
            "asking::ungranted_questions_are_never_sent",
        ],
    ),
    ("M11", &["model::the_hosts_model_is_limited_by_calls_and_tokens"]),
    (
        "M12",
        &[
            "upstream::a_form_that_asks_for_a_secret_never_reaches_the_client",
            "asking::wrong_and_missing_answers_are_asked_again",
        ],
    ),
    ("M13", &["identity::tokens_are_checked", "connections::no_token_is_in_the_guests_memory"]),
    (
        "M14",
        &[
            "connections::a_provider_that_refuses_or_is_mixed_up_is_rejected",
            "connections::pages_and_flows_are_bound_to_one_browser_and_user",
        ],
    ),
    ("M17", &["upstream::a_program_gets_no_more_of_the_environment_than_it_needs"]),
    (
        "M18",
        &[
            "http_guard::a_body_must_be_json_within_the_size_and_depth_limits",
            "wire::a_malformed_line_does_not_end_the_session",
            "sessions::an_id_is_used_by_one_request_at_a_time",
        ],
    ),
    (
        "M20",
        &[
            "sessions::the_number_of_sessions_is_limited",
            "identity::unknown_key_ids_do_not_flood_the_issuer",
            "upstream::invalid_results_of_a_server_fail_only_their_call",
        ],
    ),
    (
        "W12",
        &[
            "egress::without_a_grant_nothing_is_sent",
            "egress::private_addresses_need_an_explicit_grant",
            "egress::a_redirect_target_needs_its_own_grant",
            "egress::body_sizes_and_timeouts_are_enforced",
        ],
    ),
    ("M15", &["egress::private_addresses_need_an_explicit_grant", "egress::a_redirect_target_needs_its_own_grant"]),
    ("W21", &["hijacked::a_hijacked_worker_can_do_nothing", "hijacked::a_hijacked_server_can_do_little"]),
    (
        "M6",
        &[
            "install::updates_are_applied_or_staged_for_approval",
            "tampering::components_that_were_tampered_with_are_refused",
            "metadata::a_plugin_that_describes_itself_inconsistently_is_refused",
        ],
    ),
    ("M23", &["audit::each_decision_is_recorded_once", "audit::changed_records_are_found_and_named"]),
    ("M24", &["floods::guest_stdout_never_reaches_the_client"]),
];

/// Threats without a row or a test, and the reason.
pub(super) const NOT_YET: &[(&str, &str)] = &[];
