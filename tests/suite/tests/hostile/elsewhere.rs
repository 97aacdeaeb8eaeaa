//! Which tests of the suite cover a threat besides the rows here, and which threats nothing covers yet. A name that is no
//! test fails `every_threat_is_covered`, and so does a threat that stands on both lists.

/// Tests by threat.
pub(super) const TESTS: &[(&str, &[&str])] = &[
    (
        "W8",
        &[
            "bombs::a_function_of_a_megabyte",
            "bombs::a_function_of_fifty_thousand_locals",
            "bombs::blocks_inside_blocks",
        ],
    ),
    (
        "W9",
        &[
            "malformed::a_component_cut_anywhere",
            "malformed::a_component_with_bytes_changed",
            "cache::a_changed_entry_is_compiled_anew_and_never_loaded",
            "cache::a_link_in_the_cache_is_no_way_in",
            "cache::a_cache_is_its_owners_alone",
            "reload::a_broken_version_changes_nothing",
        ],
    ),
    ("W10", &["hostile::files::no_path_leads_out", "hostile::files::no_race_leads_out"]),
    ("W15", &["abuse::the_table", "client_tools::chains::a_tool_that_is_running_further_up_is_refused"]),
    ("W16", &["client_tools::limits::ten_thousand_calls_end_at_the_limit"]),
    (
        "W17",
        &[
            "client_tools::chains::fuel_is_what_the_chain_has_left",
            "client_tools::chains::cpu_time_is_what_the_chain_has_left",
        ],
    ),
    (
        "W18",
        &[
            "isolation::a_spinning_guest_does_not_keep_others_waiting",
            "isolation::more_calls_at_once_than_there_are_instances",
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
            "identity::a_parked_call_is_its_principals_own",
            "identity::sessions_belong_to_those_who_made_them",
            "live::a_channel_is_its_principals_own",
        ],
    ),
    ("M4", &["asking::parked_calls_expire", "asking::a_state_does_not_outlive_the_plugins_version"]),
    ("M9", &["floods::nobody_forges_the_log", "floods::nobody_forges_the_log_by_failing"]),
    ("M10", &["model::it_is_for_those_only_who_may_and_must", "asking::ungranted_questions_never_leave"]),
    ("M11", &["model::it_is_asked_only_so_much"]),
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
            "connections::a_provider_that_says_no_or_is_another_one",
            "connections::pages_and_flows_belong_to_one_browser_and_one_person",
        ],
    ),
    ("M17", &["upstream::a_program_gets_no_more_of_the_environment_than_it_needs"]),
    (
        "M18",
        &[
            "http_guard::a_body_is_small_flat_and_json",
            "wire::a_line_that_is_no_message_ends_nothing",
            "sessions::an_id_is_used_by_one_request_at_a_time",
        ],
    ),
    (
        "M20",
        &[
            "sessions::there_are_only_so_many_sessions",
            "identity::made_up_keys_cost_the_issuer_nothing",
            "upstream::nothing_that_a_server_says_is_too_much",
        ],
    ),
    (
        "W12",
        &[
            "egress::without_a_grant_nothing_is_sent",
            "egress::this_machine_needs_a_word_of_its_own",
            "egress::a_redirect_is_a_request_of_its_own",
            "egress::sizes_and_times_end",
        ],
    ),
    ("M15", &["egress::this_machine_needs_a_word_of_its_own", "egress::a_redirect_is_a_request_of_its_own"]),
    ("W21", &["hijacked::a_hijacked_worker_can_do_nothing", "hijacked::a_hijacked_server_can_do_little"]),
    (
        "M6",
        &[
            "install::updates_come_in_or_wait",
            "tampering::components_that_were_tampered_with_are_refused",
            "metadata::who_says_two_things_is_not_believed",
        ],
    ),
    ("M23", &["audit::each_decision_is_recorded_once", "audit::what_is_changed_is_found_and_named"]),
    ("M24", &["floods::stdout_of_a_guest_never_reaches_the_wire"]),
];

/// Threats without a row or a test, and what they wait for.
pub(super) const NOT_YET: &[(&str, &str)] = &[];
