"""Everything that may happen to a plan: one function a verb, each one transaction.

View, API, command and tool call these and nothing else; a refusal is agents.errors.Refused with
one sentence. `by` is who did it: a username, "agent" or "system".
"""

from plans.actions.alternatives import leave_alternative as leave_alternative
from plans.actions.alternatives import show_alternative as show_alternative
from plans.actions.approve import approve_plan as approve_plan
from plans.actions.attempts import answer_question as answer_question
from plans.actions.attempts import ask_question as ask_question
from plans.actions.attempts import begin_attempt as begin_attempt
from plans.actions.attempts import interrupt_attempt as interrupt_attempt
from plans.actions.attempts import report_progress as report_progress
from plans.actions.attempts import settle_closing as settle_closing
from plans.actions.attempts import settle_subtask as settle_subtask
from plans.actions.checking import check_plan as check_plan
from plans.actions.checking import look_at as look_at
from plans.actions.checking import take_as_it_is as take_as_it_is
from plans.actions.checking import take_back as take_back
from plans.actions.checks import remove_check as remove_check
from plans.actions.checks import save_check as save_check
from plans.actions.close import cancel_plan as cancel_plan
from plans.actions.close import cancel_request as cancel_request
from plans.actions.close import clear as clear
from plans.actions.close import delete_plan as delete_plan
from plans.actions.close import end_open_plans as end_open_plans
from plans.actions.close import finish_plan as finish_plan
from plans.actions.comments import keep_comment as keep_comment
from plans.actions.comments import remove_comment as remove_comment
from plans.actions.comments import send_comments as send_comments
from plans.actions.create import activate_plan as activate_plan
from plans.actions.create import create_plan as create_plan
from plans.actions.create import request_plan as request_plan
from plans.actions.create import throw_away as throw_away
from plans.actions.create import use_again as use_again
from plans.actions.documents import take_out_of_force as take_out_of_force
from plans.actions.edit import add_subtask as add_subtask
from plans.actions.edit import edit_plan as edit_plan
from plans.actions.edit import move_subtask as move_subtask
from plans.actions.edit import remove_subtask as remove_subtask
from plans.actions.edit import restore_subtask as restore_subtask
from plans.actions.edit import restore_version as restore_version
from plans.actions.edit import update_subtask as update_subtask
from plans.actions.retry import retry_subtask as retry_subtask
from plans.actions.revise import ask_for_changes as ask_for_changes
from plans.actions.revise import replace_rest as replace_rest
from plans.actions.revise import replan_rest as replan_rest
from plans.actions.revise import revise_plan as revise_plan
from plans.actions.run import pause_plan as pause_plan
from plans.actions.run import raise_budget as raise_budget
from plans.actions.run import resume_plan as resume_plan
from plans.actions.run import run_plan as run_plan
from plans.actions.run import skip_subtask as skip_subtask
from plans.actions.run import stop_plan as stop_plan
from plans.actions.undo import preview_changes as preview_changes
from plans.actions.undo import retry_clean as retry_clean
from plans.actions.undo import undo_changes as undo_changes
