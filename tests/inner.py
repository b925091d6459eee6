"""What tests name of the product's inner modules, so that a move of a module touches one file.

Verbs, models, errors and schemas are imported from where they are: `plans.actions`, `agents.models`,
`plans.models`, `agents.errors`, `plans.schemas`, and `agents.actors`, `agents.db`, `agents.http`.
So are `console.asgi` and `console.urls`: settings name them, and to import them sets up all of the site.
"""

# ruff: noqa: F401

from agents import actions as agents_actions
from agents import (
    conversations,
    events,
    persistence,
    pools,
    run_once,
    umask,
)
from agents.actions import add_message as actions_add_message
from agents.actions import (
    choose_model,
    create_conversation,
    decide_call,
    discard_queued,
    name_untitled,
    queue_turn,
    rename_conversation,
    retry_now,
    retry_reply,
    save_draft,
    start_turn,
    stop_reply,
)
from agents.chains.lint import LONGEST_TEXT, Names, check_text
from agents.chains.schema import MOST_BRANCHES
from agents.chains.store import (
    SHIPPED,
    chain_ids,
    lint,
    list_chains,
    load_chain,
    read_text,
    save_chain,
)
from agents.chains.template import TemplateValues, UnknownMacro, expand, go_format
from agents.changes import compare as recordings_changes
from agents.changes import ignore, retention, scan, undo, undo_preview, unified
from agents.changes import recording as recordings
from agents.changes import undo_steps as restore
from agents.changes.authorship import TICK as AUTHORSHIP_TICK
from agents.changes.authorship import Evidence, Look, Origin, Seen, Writes
from agents.changes.compare import Change as ChangesChange
from agents.changes.compare import Version, changes_between, read_changes
from agents.changes.evidence import writes_of
from agents.changes.history import composed
from agents.changes.ignore import NO_RULES
from agents.changes.recording import record_all_ended
from agents.changes.scan import CLOCK as SCAN_CLOCK
from agents.changes.scan import Snapshot
from agents.changes.scan import record as scan_record
from agents.changes.store import BLOB, MOST_PACKS, TREE, Store, StoreBroken, oid_of, stores
from agents.changes.undo import NothingToUndo, PreviewChanged, Wanted, finish_cut_off, unfinished
from agents.changes.unified import diff_text, hunks, patch_text
from agents.changes.watch import changed_between
from agents.config import json_text, ownership, workspaces
from agents.config import store as config_store
from agents.config.json_text import BadFile, Lines, parse, patched
from agents.config.ownership import make_agent, set_owner
from agents.config.schema import AgentFile, macros_in, parse_agent_file
from agents.config.store import (
    change_agent,
    copy_agent,
    create_agent,
    files_folder,
    list_agents,
    read_agent,
    replace_agent_text,
)
from agents.config.store import delete_agent as store_delete_agent
from agents.config.workspaces import SAMPLE as WORKSPACES_SAMPLE
from agents.config.workspaces import prepare_home
from agents.conversation_tree import ancestors, descendants, tree
from agents.conversations import delete_conversation, pin_conversation, restore_conversation
from agents.conversations import erase as conversations_erase
from agents.demo import script
from agents.demo.languages import LANGUAGES, pieces
from agents.demo.pages import broken_links, gaps
from agents.demo.transport import DEMO_URL, DemoModel
from agents.engine import alternatives as engine_alternatives
from agents.engine import lifecycle, loop
from agents.engine.available_tools import available_tools, left_out, same_json
from agents.engine.completion import chosen
from agents.engine.handlers import handler_of
from agents.engine.lifecycle import (
    close_turn,
    end,
    fail,
    interrupt,
    model_failed,
    request_stop,
    requeue,
    suspend,
)
from agents.engine.loop import run_chain, run_turn
from agents.engine.prompt import BROKE_OFF, NO_RESULT, NOT_RUN, history
from agents.engine.steps import ToolCallChanged
from agents.engine.streaming import (
    FRAME_SECONDS,
    PROGRESS_SECONDS,
    LiveProgress,
    LiveText,
    frame_seconds,
    split_blocks,
)
from agents.engine.usage import Times, Used, cost_of, times_of
from agents.events import MOST_READ, group_of, text_group_of
from agents.events import record as events_record
from agents.hidden_characters import MOST_BOXES, count_boxes, count_hidden
from agents.http_bodies import MULTIBYTE, SINGLE_BYTE, decoded
from agents.json_size import has_more_values
from agents.leaving import delete_agent as leaving_delete_agent
from agents.leaving import stop_work_of
from agents.llm import catalog, discovery
from agents.llm.api import api_of
from agents.llm.catalog import Listing, listing_of, model_info, model_problem, window_for
from agents.llm.chat_completions import MOST_CALLS, ChatDraft
from agents.llm.client import LONGEST_REPLY, list_models, spent, stream
from agents.llm.errors import ModelError, unreachable
from agents.llm.images import image_part
from agents.llm.known_providers import BY_NAME, KNOWN_PROVIDERS
from agents.llm.lessons import MOST_KEPT as LESSONS_MOST_KEPT
from agents.llm.lessons import lessons_for, remember
from agents.llm.message_order import LEFT_OUT
from agents.llm.model_info import ModelInfo, read_model
from agents.llm.model_lists import models_of
from agents.llm.providers import (
    DEMO_LABEL,
    ProviderEdit,
    add_provider,
    change_provider,
    default_model,
    lacks,
    provider_names,
    remove_key,
    resolve,
    set_key,
)
from agents.llm.reply import ReasoningPart, Reply, RequestedCall, TextPart
from agents.llm.request import ChatMessage, Endpoint, ModelRequest
from agents.normalization import MOST_MARKS, joined_url, normalized, slug, split_url
from agents.persistence import add_message as persistence_add_message
from agents.persistence import save_progress
from agents.pools import Pool
from agents.pools import person as person_of_turn
from agents.queue import housekeeping
from agents.queue.claims import SLOTS, backlog, claim, due
from agents.queue.leases import (
    as_command,
    folder,
    home_lock,
    lease_length,
    put_back_orphans,
    release,
    renew,
)
from agents.queue.worker import Worker
from agents.run_once import queue_chain
from agents.sanitize import DEEPEST, fault_of, sanitize
from agents.search import Kind, find, written
from agents.sentences import beside, listed
from agents.statements import insert, kept_cursor, one_of, prepared, updating
from agents.statements import store as statements_store
from agents.stored_text import (
    MARK,
    beginning,
    from_column,
    gap_behind,
    gettext,
    gettext_lazy,
    lines,
    ngettext,
    sentences,
    to_column,
    untranslated,
)
from agents.stored_text import text_of as text_of_parts
from agents.telemetry import hooks, log_context, redaction
from agents.telemetry import metrics as telemetry_metrics
from agents.telemetry import tracing as telemetry_tracing
from agents.telemetry.redaction import redact_log
from agents.text.diff import Alignment, Op, diff_words, file_lines, longest_increasing, words
from agents.text.tokens import estimate_tokens
from agents.timestamps import timestamp
from agents.tools import confinement, permissions, progress, supervisor
from agents.tools import fetch as tools_fetch
from agents.tools.base import BUILT_IN, SERVER_TOOLS, Tool, ToolFailed, ToolResult
from agents.tools.base import PLAN_TOOLS as BASE_PLAN_TOOLS
from agents.tools.confinement import FileName, NotAName, Workspace, move_to_free, opened_folder
from agents.tools.fetch import LARGEST as FETCH_LARGEST
from agents.tools.fetch import fetch as fetch_fetch
from agents.tools.fetch import fetch_tools, web_text
from agents.tools.file_changes import MOST_KEPT as FILE_CHANGES_MOST_KEPT
from agents.tools.file_changes import change_of
from agents.tools.files import LARGEST_READ, LARGEST_WRITE, file_tools
from agents.tools.files import MOST_LINES as FILES_MOST_LINES
from agents.tools.images import NotShown, image_of
from agents.tools.integrations import actions as integrations_actions
from agents.tools.integrations import mcp, sign_in
from agents.tools.integrations.actions import (
    TAKEN,
    add_source,
    refresh_source,
    register,
    remove_source,
)
from agents.tools.integrations.mcp import (
    RemoteTool,
    Server,
    SignInNeeded,
    aclose_all,
    forget,
    list_tools,
)
from agents.tools.integrations.mcp.connection import Connection
from agents.tools.integrations.mcp.remote import Remote
from agents.tools.integrations.mcp.results import result_of
from agents.tools.integrations.openapi import http
from agents.tools.integrations.openapi.documents import parsed, read_operations
from agents.tools.integrations.openapi.http import call_operation
from agents.tools.integrations.openapi.operations import operations_of
from agents.tools.integrations.openapi.parser import Job
from agents.tools.integrations.tools import operation_names, server_of, source_tools
from agents.tools.paths import path_bytes, path_text
from agents.tools.patterns import matching_lines
from agents.tools.progress import listener
from agents.tools.search import MOST_FOUND, MOST_OFFERED, SHARE, best, words_in
from agents.tools.shell import MOST_CHARACTERS as SHELL_MOST_CHARACTERS
from agents.tools.shell import Output, Supervised, environment, run_command, shell_tools
from agents.tools.ssrf_guard import Guard, ask_system, is_public
from agents.words import LONGEST_WORD, MOST_SIGNS, SIGNS, folded, words_of
from agents.words import MOST_BYTES as WORDS_MOST_BYTES
from agents.words import MOST_CHARACTERS as WORDS_MOST_CHARACTERS
from agents.words import question_of as words_question_of
from agents.workspace import attachments, trash
from agents.workspace import files as workspace_files
from agents.workspace.attachments import LARGEST as ATTACHMENTS_LARGEST
from agents.workspace.attachments import LARGEST_IMAGE, MOST_FILES, remove, safe_name
from agents.workspace.attachments import take_in as attachments_take_in
from agents.workspace.edits import noted
from agents.workspace.files import AgentFiles, moment_of
from agents.workspace.trash import store
from console import alternatives as console_alternatives
from console import (
    env,
    formulas,
    fragments,
    markdown,
    palette,
    plan_requests,
    static_files,
    throttling,
)
from console import thread as console_thread
from console.agent_form import SETTINGS as AGENT_FORM_SETTINGS
from console.agent_form import digest_of as agent_form_digest_of
from console.agent_form import field_of, fields_of
from console.agent_tools import DEFAULT_GRANTS, DESCRIPTIONS, RISKY
from console.alternatives import ask_again, retry, send_edited
from console.api import chains
from console.api.errors import MOST_BYTES as ERRORS_MOST_BYTES
from console.api.events import tail
from console.api.live_texts import LiveTexts, Text
from console.api.needs import NeedShape
from console.api.plan_bodies import NewSubtask, SubtaskPatch, SubtaskWanted
from console.api.shapes import Body
from console.api.urls import api
from console.api.versions import RowShape
from console.auth import browsers, people
from console.auth.signin import BACKEND, SPENT, signin_path
from console.auth.tokens import bearer_of, create_token, revoke_token
from console.auth.tokens import digest_of as tokens_digest_of
from console.auth.users import LONGEST, OWNER, known_username, local_owner, new_username
from console.chain_pages import ChainFile
from console.changes import changed_files
from console.changes.calls import call_status, diff_of, draw_call, whole_change
from console.changes.calls import question_of as call_display_question_of
from console.changes.changed_files import MOST_DRAWN, MOST_LISTED
from console.changes.lines import HEAD, LONG, MOST_HIDDEN, diff_of_files, text_lines
from console.changes.lines import MOST_CHARACTERS as CALL_DISPLAY_MOST_CHARACTERS
from console.changes.lines import MOST_LINES as CALL_DISPLAY_MOST_LINES
from console.changes.undo_rows import undo_rows
from console.chat_commands import handle_message
from console.check_display import check_from, typed_fields
from console.conversation_state import read_state as conversation_state_read_state
from console.downloads import Pieces, file_response, pdf_response, zip_response
from console.env import ProviderKey
from console.exceeded_limits import used_up
from console.fragments import changes as fragments_changes
from console.fragments import drawer, earlier, streamed
from console.fragments import read_state as fragments_read_state
from console.fragments import thread as fragments_thread
from console.home import keep_address, make_ready, one_migration_at_a_time, warnings
from console.htmx import headers_of
from console.integration_schemas import shape
from console.keys import PLACES
from console.language import CHAINS, SAMPLE_NAME, agent_name, cached, drawn_in, format_size
from console.language import SAMPLE as SHIPPED_SAMPLE
from console.line_faults import MOST_FAULTS, of_chain
from console.live import consumers, sessions
from console.live.consumers import NOT_YOURS, SIGN_IN, TOO_MANY, Conversation, asked_of
from console.live.sessions import Credential
from console.management import main
from console.management.commands.plan import Command
from console.management.plan_options import BY_ID, STOPS
from console.markdown import (
    LONG_OPEN_BLOCK,
    MOST_WEIGHT,
    SizedCache,
    affordable,
    block,
    is_long,
    render,
    rendered,
    weight_of,
)
from console.middleware import MOST_BYTES as MIDDLEWARE_MOST_BYTES
from console.middleware import REFUSALS, CompressedPages
from console.model_choices import choices_of, recent_choices, sees_images
from console.need_cards import NeedCard
from console.needs import waiting_for
from console.notices import notices_of
from console.ops import doctor, health, metrics
from console.ops import tracing as ops_tracing
from console.ops.doctor import findings
from console.ops.health import OneThread
from console.ops.logs import formatter
from console.palette import SETTINGS as PALETTE_SETTINGS
from console.palette import results
from console.plan_buttons import BUTTONS, plan_buttons
from console.plan_page import attempt_words
from console.plan_requests import ChatResult
from console.plan_timeline import Timeline, page_of_lines, wanted_lines
from console.preferences import in_templates, preferences, preferences_of, set_preferences
from console.serving.handler import THREADS, PooledASGIHandler
from console.serving.limits import MOST_RECEIVED, LimitedRequest, LimitedSocket
from console.serving.process import make_undumpable
from console.serving.server import GOES_AWAY, RESTARTS, address_of, event_loop, listen
from console.serving.server import Server as ServerServer
from console.settings_pages import PAGES, TITLES
from console.sidebar import grouped
from console.snippets import BEFORE, snippet
from console.snippets import marked as snippets_marked
from console.status_labels import (
    UNANSWERED,
    WRITING,
    describe_plan,
    label_of_plan,
    why_left_out,
)
from console.templatetags.languages import COUNTED
from console.thread import MESSAGES_PER_PAGE, last_groups
from console.typed_commands import command_in
from console.typed_text import MOST_LINKS, pieces_of, typed
from console.views import first_run
from console.views import messages as message_views
from console.visible_text import MOST_BOXES_OF_CODE, visible, visible_code, visible_plain
from plans import (
    approval_phrases,
    baselines,
    check_probes,
    check_runner,
    prompts,
    search,
)
from plans.actions.verb import Verb
from plans.attempts import attempts_of, times_of_plan
from plans.baselines import Known
from plans.changes import held as held_changes
from plans.changes.recorded import changes_text
from plans.changes.scope import Scope
from plans.check_probes import ask_service, file_finding
from plans.check_results import finish_lines
from plans.check_text import Check, looks_at, with_keys
from plans.comments import answered_between
from plans.diff import Change as DiffChange
from plans.diff import diff
from plans.documents import (
    as_markdown,
    create_plan,
    create_plan_tool,
    get_plan,
    in_code,
    plan_agent,
    update_plan,
)
from plans.expected_version import Expected
from plans.gate import PLAN_TOOLS as GATE_PLAN_TOOLS
from plans.gate import Row, Situation, row_of
from plans.in_force import documents_in_force
from plans.needs import KINDS as NEED_KINDS
from plans.needs import NeedKind, asking_calls, needs_of, resting_plans
from plans.policy import AGENT_TOOLS
from plans.prompts import assignment, plan_context
from plans.queries import (
    active_plan,
    checklist,
    ready,
    run_turns_of,
    settle_run,
    snapshot_text,
    turns_of,
)
from plans.reviews import Changed, Material, question_text
from plans.search import NEEDS_ME, Query, in_groups, search_plans
from plans.snapshot import PlanSnapshot, SubtaskSnapshot
from plans.snapshot_reading import conversation_snapshot, plan_snapshot
from plans.status import (
    BEING_WRITTEN,
    MARKS,
    STATUSES,
    WAITS_FOR_ANSWER,
    Group,
    Status,
    statuses_of,
)
from plans.subplans import settle_planning, start_for_parent
from plans.text import MOST_TOKENS, PlanText, documents_text, text_of
from plans.text_plans import plan_in_text
from plans.tools import GetPlan, parts_of, text_and_standing, waits_for
from plans.turn_handlers import repair_one
from plans.verdicts import finding_of
from plans.verification import Verification, Word
