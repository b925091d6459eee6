# ruff: noqa
"""Test files of a8f3ff6 to try for each fault: the likely ones in order, then (WIDER) one widening.

Names are below tests/. Kept for the run against the
new suite: there the names change, the faults do not.
"""

LIKELY = {
    1: "plans/test_gate test_rules plans/test_context plans/test_pause chains/test_graph plans/test_retries plans/test_cancel_planning",
    2: "plans/test_waits plans/test_context plans/test_run plans/test_gate test_rules plans/test_side_by_side plans/test_checks plans/test_pause plans/test_state_machine",
    3: "plans/test_retries test_rules plans/test_check_texts plans/test_gate plans/test_comments plans/test_pause plans/test_restore console/api/test_plans console/test_expected_version",
    4: "plans/test_pause plans/test_run plans/test_run_mode plans/test_retries test_rules console/api/test_plans console/test_plan_buttons console/test_drawer_verbs console/test_expected_version plans/test_state_machine plans/test_waits",
    5: "console/test_settings_pages console/test_drawer_verbs console/api/test_tool_calls plans/test_standing plans/test_run agents/test_permissions console/test_pending_approvals console/test_needs plans/test_needs",
    6: "console/test_expected_version console/api/test_plans test_rules plans/test_gate plans/test_documents console/test_drawer_verbs",
    7: "console/test_expected_version plans/test_approval_phrases console/test_chat_commands console/api/test_messages plans/test_gate",
    8: "console/test_marks plans/test_standing plans/test_checks console/test_checks console/test_closing console/test_plan_list console/test_sidebar",
    9: "plans/test_checks plans/test_checks_of_restored_files console/test_checks console/test_marks plans/test_undo",
    10: "plans/test_checks plans/test_check_texts plans/test_checks_killed plans/test_checks_of_restored_files plans/test_retries",
    11: "plans/test_undo plans/test_undo_reach agents/recordings/test_turns plans/test_checks_of_restored_files",
    12: "plans/test_undo plans/test_undo_reach agents/recordings/test_composition agents/recordings/test_turns plans/test_changes",
    13: "agents/test_file_tools security/test_workspace_files console/test_workspace agents/test_shell console/test_attachments console/api/test_files security/test_isolation plans/test_checks",
    14: "security/test_workspace_files console/test_workspace security/test_isolation console/api/test_files",
    15: "console/test_drawer_verbs security/test_isolation console/test_settings_pages console/test_needs console/test_pending_approvals",
    16: "agents/test_permissions plans/test_run plans/test_run_mode plans/test_pause agents/test_run_agent chains/test_run plans/test_retries",
    17: "faults/test_clock scale/test_claims plans/test_run agents/test_events agents/test_statements agents/test_stop_reply console/test_chain_beside test_rules plans/test_error_cards",
    18: "console/test_plan_interrupted console/test_plan_command plans/test_gone scale/test_claims plans/test_run test_kill console/test_serve console/test_worker",
    19: "plans/test_run agents/recordings/test_turns plans/test_checks plans/test_gone faults/test_found_by_chaos faults/test_clock agents/test_events scale/test_lost_workers",
    20: "scale/test_lost_workers faults/test_sigterm console/test_worker test_approval_restart test_kill console/test_serve plans/test_gone",
    21: "console/api/test_events console/api/test_live_texts agents/test_events",
    22: "console/test_fragments plans/test_standing console/test_drawer_verbs plans/test_error_cards console/test_plan_buttons plans/test_pause test_rules console/test_status_labels",
    23: "plans/test_retries plans/test_run plans/test_checks plans/test_run_mode plans/test_error_cards console/test_drawer_verbs",
    24: "plans/test_retries plans/test_run plans/test_error_cards faults/test_model_servers agents/test_cut_off plans/test_waits",
    25: "plans/test_budget plans/test_needs plans/test_checks plans/test_subplans plans/test_run_mode faults/test_clock agents/test_config",
    26: "plans/test_subplans plans/test_budget agents/test_run_agent plans/test_times chains/test_run chains/test_results",
    27: "console/test_signin console/test_commands console/test_people console/test_serve security/test_user_command security/test_sessions",
    28: "security/test_sessions console/test_consumers console/api/test_events console/test_account console/test_people",
    29: "console/api/test_auth security/test_headers console/api/test_errors security/test_bodies security/test_malformed",
    30: "console/test_consumers security/test_headers security/test_wire_fuzz security/test_sessions console/test_serve",
    31: "console/test_thread console/test_fragments console/test_call_progress console/test_conversation_state console/test_pages console/test_consumers console/test_error_pages",
    32: "console/api/test_plans console/test_expected_version console/api/test_errors security/test_malformed console/api/test_subtasks",
    33: "browser/test_rules browser/test_tabs browser/test_workspace_late",
    34: "browser/test_tabs browser/test_doors browser/test_rules browser/test_versions",
    35: "browser/test_offline browser/test_composer browser/test_queued_verbs browser/test_attachments",
    36: "browser/test_offline browser/test_needs browser/test_by_keyboard browser/test_sign_in_again browser/test_rules",
    37: "browser/test_fields browser/test_rules browser/test_doors browser/test_by_keyboard browser/test_comments browser/test_versions",
    38: "browser/test_rules browser/test_sidebar browser/test_focus browser/test_by_keyboard browser/test_reading browser/test_versions",
    39: "browser/test_offline console/test_serve console/test_consumers faults/test_sigterm browser/test_main_job",
    40: "plans/test_run agents/test_trusted_hints test_kill agents/test_file_tools plans/test_gone agents/test_mcp",
}

WIDER = {
    1: "plans/test_waits plans/test_run plans/test_documents test_liars console/test_chat_commands plans/test_state_machine",
    2: "plans/test_doors_machine plans/test_times plans/test_gone plans/test_comments plans/test_retries plans/test_restore",
    3: "plans/test_waits plans/test_subplans plans/test_documents plans/test_run console/test_plan_comments console/test_alternatives plans/test_doors_machine",
    4: "plans/test_doors_machine plans/test_checks plans/test_gate plans/test_approval_phrases console/test_needs plans/test_gone console/test_plan_command browser/test_tabs",
    5: "security/test_isolation plans/test_subplans plans/test_gone plans/test_waits plans/test_state_machine console/test_timeline browser/test_settings",
    6: "console/api/test_subtasks plans/test_checks plans/test_restore plans/test_doors_machine browser/test_doors",
    7: "console/test_plan_buttons console/test_fragments plans/test_several_plans test_rules browser/test_doors",
    8: "plans/test_gate_of_alternatives console/api/test_files console/test_timeline plans/test_search console/api/test_plans browser/test_checks",
    9: "plans/test_standing console/api/test_plans console/test_needs browser/test_checks",
    10: "test_liars plans/test_run plans/test_gone browser/test_checks",
    11: "plans/test_changes security/test_workspace_files console/test_workspace plans/test_checks agents/test_file_changes browser/test_changes",
    12: "plans/test_checks_of_restored_files console/test_changes_page agents/test_file_changes agents/recordings/test_scan",
    13: "agents/recordings/test_scan agents/recordings/test_turns plans/test_undo agents/test_run_agent console/test_call_images agents/test_attachments agents/test_search_tools",
    14: "console/api/test_conversations security/test_malformed agents/test_file_tools browser/test_workspace",
    15: "console/api/test_tool_calls security/test_headers security/test_malformed console/test_consumers console/test_call_images",
    16: "plans/test_waits plans/test_any_chain plans/test_checks console/api/test_plans",
    17: "plans/test_several_plans console/test_thread console/api/test_messages faults/test_model_servers browser/test_queued_verbs",
    18: "console/test_chain_beside faults/test_found_by_chaos scale/test_two_of_each",
    19: "scale/test_claims plans/test_cancel_planning agents/test_cut_off agents/test_permissions plans/test_waits plans/test_times scale/test_outages",
    20: "plans/test_run console/test_tools_command scale/test_outages faults/test_found_by_chaos browser/test_offline",
    21: "console/test_call_progress console/test_conversation_state faults/test_slow_readers scale/test_two_of_each",
    22: "console/test_timeline plans/test_subplans browser/test_reading browser/test_tabs",
    23: "plans/test_times plans/test_gate_of_alternatives plans/test_waits console/api/test_subtasks plans/test_state_machine",
    24: "agents/test_model_client plans/test_subplans agents/test_run_agent console/test_error_pages console/test_missing_model chains/test_run",
    25: "agents/test_broken_off console/api/test_steering console/test_plan_buttons console/test_drawer_verbs plans/test_approval_phrases agents/test_run_agent plans/test_waits",
    26: "plans/test_checks plans/test_needs plans/test_run console/test_timeline console/api/test_history chains/test_outputs",
    27: "security/test_throttling test_deploy console/test_home console/test_error_pages browser/test_sign_in_again",
    28: "console/api/test_live_texts security/test_isolation security/test_headers browser/test_sign_in_again",
    29: "console/test_signin console/api/test_chains console/test_error_pages security/test_api_fuzz",
    30: "faults/test_many_sockets console/test_protocols test_deploy security/test_isolation",
    31: "browser/test_alternatives browser/test_tabs console/test_alternatives",
    32: "security/test_bodies security/test_isolation security/test_api_fuzz",
    33: "browser/test_needs browser/test_offline browser/test_workspace_meanwhile browser/test_library",
    34: "browser/test_needs browser/test_focus browser/test_fields browser/test_checks",
    35: "browser/test_by_keyboard browser/test_tabs browser/test_main_job",
    36: "browser/test_library browser/test_fields browser/test_doors browser/test_other_languages",
    37: "browser/test_reading browser/test_needs browser/test_checks browser/test_keys browser/test_approvals",
    38: "browser/test_touch browser/test_states browser/test_comments browser/test_keys",
    39: "console/test_worker test_approval_restart scale/test_two_of_each test_kill",
    40: "plans/test_checks_killed agents/test_shell plans/test_undo faults/test_found_by_chaos agents/test_run_agent",
}


# With PLANSIDE_TEST_ON=postgres, as .ci/test does after the rest.
POSTGRES = dict.fromkeys(
    (2, 10, 16, 17, 18, 19, 22, 26),
    "scale/test_claims agents/test_statements plans/test_gate plans/test_run test_rules",
)


def files(line):
    return [f"tests/{each}.py" for each in line.split()]
