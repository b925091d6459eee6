"""`manage.py plan new | list | show | approve | run | retry | skip | replan | …`: see --help."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db.models import F

from agents.actions import create_conversation
from agents.changes.undo import Wanted, outcome_of
from agents.config.ownership import agent_of, agents_of
from agents.engine.lifecycle import request_stop
from agents.engine.steps import last_text
from agents.errors import Conflict, NotFound
from agents.models import Preferences, Turn, TurnState
from console import plan_requests
from console.auth.users import local_owner
from console.call_images import plan_markdown
from console.home import public_address
from console.management.base import Ended, PlainCommand
from console.management.plan_options import BY_ID, FLAGS, STOPS
from console.management.plan_undo import undo_by_command
from console.management.wait import Interrupted, follow, has_no_worker
from plans import actions
from plans.changes.recorded import changes_text
from plans.changes.scope import Scope
from plans.check_text import looks_at
from plans.documents import DONE
from plans.expected_version import NOT_CHANGED, NOT_STARTED
from plans.models import LIVE, OPEN, SETTLED, ActivePlan, CheckResult, Plan
from plans.queries import checklist, reload
from plans.search import rows_of
from plans.snapshot_reading import plan_snapshot, plan_snapshots
from plans.verification import Word

READING = ("show", "check", "changes", "undo", "export")  # any plan does if there is only one
MOST = 20  # plans listed where one has to be named
MARKS = {"todo": " ", "in_progress": ">", "done": "x", "abandoned": "-"}


class Command(PlainCommand):
    help = (
        "Plans from the command line. Without an ID, the one that was made or activated last, or "
        "the only open plan in a drawer."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        new = verbs.add_parser("new", help="ask an agent for a plan")
        new.add_argument("goal")
        new.add_argument("--agent", default="")
        new.add_argument("--planner", default="", metavar="CHAIN")
        new.add_argument(
            "--beside", action="store_true", help="in the conversation of the only open plan"
        )
        new.add_argument("--json", action="store_true")
        listing = "all plans; * is in a drawer, > the one that is meant without an ID"
        verbs.add_parser("list", help=listing).add_argument("--json", action="store_true")
        for verb, explanation in BY_ID.items():
            by_id = verbs.add_parser(verb, help=explanation)
            if verb in ("retry", "skip", "comment", "look", "take-back", "take"):
                by_id.add_argument("key", help="the subtask, such as s2")
            if verb == "comment":
                by_id.add_argument("text", help="what to change; empty takes the comment away")
            if verb == "look":
                by_id.add_argument("--check", default="", help="the one for which the run rests")
            if verb == "take":
                by_id.add_argument("check", help="the check, such as c1")
            one_number = None if verb in ("activate", "delete") else "?"
            by_id.add_argument("id", nargs=one_number, type=int)
            if verb == "check":
                by_id.add_argument("key", nargs="?", default="", help="a subtask, such as s2")
            by_id.add_argument("--json", action="store_true")
            for flag, options in FLAGS.get(verb, {}).items():
                by_id.add_argument(flag, **options)  # type: ignore[arg-type]

    def handle(self, *, verb: str, json: bool, **given: Any) -> None:
        """A verb about one plan gets it, and the plan that it gives back is shown."""
        self.prepare()
        self.json = json
        if verb in BY_ID:
            given["plan"] = plan_named(given["id"], to_read=verb in READING)
        if plan := getattr(self, f"{verb.replace('-', '_')}_plan")(**given):
            self.show(plan)

    def new_plan(self, goal: str, agent: str, planner: str, beside: bool, **_: object) -> Plan:
        """In a conversation of its own, or beside another; other plans are left alone."""
        if beside:
            conversation = plan_named(None).conversation
        else:
            owner = local_owner()
            chosen = agent_of(owner, agent) if agent else next(iter(agents_of(owner)), None)
            if chosen is None:
                raise NotFound("There is no agent yet.")
            conversation = create_conversation(owner, chosen.id)
        turn = plan_requests.plan_command(
            conversation, f"/plan {goal}", goal, by(), planner, beside=True
        ).turn
        if turn is None:
            raise Conflict(f"Plan mode is off for {conversation.agent_id}.")

        def give_up() -> None:  # a plan that was never made is not asked for any more
            if not actions.cancel_request(conversation, by()):
                request_stop(turn, by())

        follow_turn(turn, "No plan was made.", give_up)
        plan = Plan.objects.filter(pk=turn.checkpoint.get("made", 0)).first()
        if plan is None:
            raise Conflict(why_none(turn, "No plan was made."))
        make_current(plan)
        return plan

    def list_plan(self, **_: object) -> None:
        plans = list(Plan.objects.filter(conversation__owner=local_owner()).order_by("-pk"))
        if self.json:
            self.print_json([plan.document() for plan in plan_snapshots(plans)])
            return
        pks = [plan.pk for plan in plans]
        active = set(ActivePlan.objects.filter(plan__in=pks).values_list("plan_id", flat=True))
        rows, current = {row.id: row for row in rows_of(pks)}, current_plan()
        for plan in plans:
            if row := rows.get(plan.pk):
                mark = "*" if row.id in active else " "
                settled = f"{row.settled}/{row.total}" if row.total else ""
                mark = ">" if current and row.id == current.pk else mark
                line = f"{row.id}  {row.status.word:28}  {settled:>7}  {row.parts:11}  {mark} "
                self.say(f"{line}{row.title}")

    def show_plan(self, plan: Plan, **_: object) -> Plan:
        return plan

    def approve_plan(
        self, plan: Plan, id: int | None, version: int | None, without_comments: bool, **_: object
    ) -> Plan:
        """Only says yes; `plan run` runs it.

        At a terminal the plan is shown whole first, where it is not named by ID and version.
        """
        wanted = self.version_read(plan, version)
        if (id is None or version is None) and self.is_at_a_terminal():
            self.say(plan_markdown(plan, public_address()))
            question = f"Approve v{plan.version} of plan {plan.pk}? [y/N] "
            if input(question).strip().casefold() not in ("y", "yes"):
                raise Conflict("Nothing was approved.")
        left = None if without_comments else ()
        return actions.approve_plan(plan, wanted, by(), "no", left)

    def run_plan(
        self,
        plan: Plan,
        version: int | None,
        executor: str,
        allow: list[str],
        next: bool = True,
        **_: object,
    ) -> None:
        wanted = self.version_read(plan, version)
        options: dict[str, object] = {"executor": executor, "allow": allow}
        actions.run_plan(plan, by(), "next" if next else "all", options, wanted)
        self.see_through(plan)

    next_plan = run_plan

    def see_through(self, plan: Plan) -> None:
        """Until the run rests; a failure, or something only a person can settle, is exit code 1.

        Each subtask is printed as it is settled.
        """
        settled = set() if self.json else self.print_settled(plan, set(), quiet=True)

        def is_over() -> bool:
            if not self.json:
                self.print_settled(plan, settled)
            return Plan.objects.get(pk=plan.pk).run not in LIVE

        stays = f"`plan show {plan.pk}` says how far it is, `plan cancel {plan.pk}` gives it up."
        again = f"What was begun is to do again: `plan run {plan.pk}` goes on from there."
        with left_to_server(stays, again):
            try:
                follow(is_over, plan.conversation_id, lambda: actions.stop_plan(plan, by()))
            finally:
                is_over()
        plan.refresh_from_db()
        self.show(plan)
        now = plan_snapshot(plan)
        if now.attention not in ("none", "halted"):  # after one subtask it was to halt
            stops = STOPS[now.attention]
            raise Conflict(stops.format(question=now.question, version=now.version))

    def print_settled(self, plan: Plan, printed: set[str], quiet: bool = False) -> set[str]:
        """Prints what was settled since the last call; gives the keys of all that are settled."""
        for subtask in checklist(plan).filter(state__in=SETTLED):
            if subtask.key not in printed and not quiet:
                self.say(f"{MARKS[subtask.state]} {subtask.key}  {subtask.name}")
                self.stdout.flush()
            printed.add(subtask.key)
        return printed

    def pause_plan(self, plan: Plan, **_: object) -> Plan:
        return actions.pause_plan(plan, by())

    def resume_plan(self, plan: Plan, version: int | None, **_: object) -> None:
        actions.resume_plan(plan, by(), self.version_read(plan, version))
        self.see_through(plan)

    def retry_plan(self, plan: Plan, key: str, version: int | None, **_: object) -> None:
        actions.retry_subtask(plan, key, by(), self.version_read(plan, version))
        self.see_through(plan)

    def skip_plan(self, plan: Plan, key: str, reason: str, **_: object) -> Plan | None:
        """The last one's skipping ends the plan: that is seen through."""
        plan = actions.skip_subtask(plan, key, by(), reason)
        if not plan.is_live:
            return plan
        self.see_through(plan)
        return None

    def check_plan(self, plan: Plan, key: str, **_: object) -> None:
        """Until all have been run; one that says no, or that was not come to, is exit code 1."""
        turn = actions.check_plan(plan, by(), key)
        follow_turn(turn, "Nothing else was checked.")
        rows = list(CheckResult.objects.filter(turn=turn).select_related("subtask"))
        for row in () if self.json else rows:
            word = {True: "yes", False: "no", None: "not run"}[row.passed]
            asked = f"{row.asked['kind']}: {looks_at(row.asked)}"
            self.say(f"{row.subtask.key} {row.key}  {word:8}{asked}  {row.said}".rstrip())
        if self.json:
            self.print_json(plan_snapshot(plan).document())
        if failed := sum(not row.passed for row in rows):
            raise Conflict(f"{failed} of {len(rows)} checks did not say yes.")
        if turn.state != TurnState.DONE:
            raise Conflict(turn.error or "The checks did not run to their end.")

    def look_plan(self, plan: Plan, key: str, check: str, **_: object) -> Plan:
        return actions.look_at(plan, key, by(), check=check)

    def take_back_plan(self, plan: Plan, key: str, **_: object) -> Plan:
        return actions.take_back(plan, key, by())

    def take_plan(self, plan: Plan, key: str, check: str, **_: object) -> Plan:
        return actions.take_as_it_is(plan, key, check, by())

    def replan_plan(self, plan: Plan, start: str | None, hint: str, **_: object) -> Plan:
        return new_version(plan, actions.replan_rest(plan, by(), start, hint))

    def comment_plan(self, plan: Plan, key: str, text: str, **_: object) -> Plan:
        if text.strip():
            return actions.keep_comment(plan, key, text, by())
        return actions.remove_comment(plan, key, by())

    def revise_plan(self, plan: Plan, text: str, **_: object) -> Plan:
        if not plan.subtasks.exists() and text.strip():  # a document takes no comments
            return new_version(plan, actions.ask_for_changes(plan, text, by()))
        return new_version(plan, actions.send_comments(plan, by(), more=text))

    def activate_plan(self, plan: Plan, **_: object) -> Plan:
        plan = actions.activate_plan(plan, by())
        make_current(plan)
        return plan

    def cancel_plan(self, plan: Plan, **_: object) -> Plan:
        """A run that stops has its turn ended before this comes back."""
        plan = actions.cancel_plan(plan, by())
        over = "The plan is cancelled."
        with left_to_server(over, over):
            follow(lambda: not reload(plan).is_live, plan.conversation_id, lambda: None)
        plan.refresh_from_db()
        return plan

    def take_out_of_force_plan(self, plan: Plan, version: int | None, **_: object) -> Plan:
        return actions.take_out_of_force(plan, by(), self.version_read(plan, version, NOT_CHANGED))

    def delete_plan(self, plan: Plan, id: int, **_: object) -> None:
        actions.delete_plan(plan, by())
        self.tell({"deleted": id}, f"{id}  {plan.title}  (deleted)")

    def changes_plan(self, plan: Plan, key: str, path: str | None, diff: bool, **_: object) -> None:
        """The files, or with a path or --diff what changed in them."""
        changes = Scope.named(plan, key).changes
        if self.json:
            self.print_json(changes.document())
        else:
            self.hand_out(changes_text(changes, changes.files, path, diff))

    def undo_plan(
        self, plan: Plan, key: str, path: list[str], force: list[str], **_: object
    ) -> None:
        wanted = Wanted(tuple(path) or None, tuple(force))
        row = undo_by_command(Scope.named(plan, key), by(), wanted, ask=not self.json)
        undone = {"id": row.pk, "files": row.files, "kept": row.kept_paths}
        self.tell(undone, outcome_of(row))

    def export_plan(self, plan: Plan, **_: object) -> None:
        self.hand_out(plan_markdown(plan, public_address()))

    def tell(self, document: object, sentence: str) -> None:
        if self.json:
            self.print_json(document)
        else:
            self.say(sentence)

    def version_read(self, plan: Plan, named: int | None, outcome: object = NOT_STARTED) -> int:
        """The version that a person has read: the named one, or at a terminal that of now.

        Raises Conflict where nobody was shown any.
        """
        if named is None and not self.is_at_a_terminal():
            raise Conflict(
                f"Without a terminal, name the version of plan {plan.pk} that you have read, such "
                f"as --version {plan.version}. {outcome}"
            )
        return plan.version if named is None else named

    def is_at_a_terminal(self) -> bool:
        return not self.json and sys.stdin.isatty() and sys.stdout.isatty()

    def show(self, plan: Plan) -> None:
        now = plan_snapshot(plan)
        if self.json:
            self.print_json(now.document())
            return
        if plan.is_live and has_no_worker():
            self.stderr.write(f"Nobody runs it now: `plan run {plan.pk}` goes on.")
        approved = "approved" if plan.is_confirmed else "not approved"
        self.say(f"{plan.pk}  {plan.title}  (v{plan.version}, {approved}, {now.standing})")
        for subtask in now.subtasks:
            mark = MARKS["todo" if subtask.is_gone else subtask.state]
            mark = "!" if subtask.is_regressed else mark
            line = f"  [{mark}] {subtask.key}  {subtask.name}"
            line += f" ({DONE[Word(subtask.verification)]})" if subtask.verification else ""
            line += " (failed)" if subtask.failed else ""
            more = subtask.error or subtask.outcome or subtask.reason
            self.say(f"{line}: {more}" if more else line)
            if subtask.comment:
                self.say(f"      Your comment: {subtask.comment}")
        if now.subtasks:
            self.say(f"  {now.progress.words}")
        if now.seconds.worked:
            self.say(f"  {now.seconds.times.words}")
        if words := plan.outcome if now.subtasks else now.content:
            self.say(words)


@contextmanager
def left_to_server(there: str, here: str) -> Iterator[None]:
    """When a signal ends the command, one sentence says who has the work now.

    `there`: a server goes on with it; `here`: it was stopped.
    """
    try:
        yield
    except Interrupted as end:
        if end.code == 128 + signal.SIGPIPE:
            raise BrokenPipeError from None
        sentence = f"Planside goes on with it. {there}" if end.goes_on else f"Stopped. {here}"
        raise Ended(sentence, end.code) from None


def follow_turn(turn: Turn, here: str, give_up: Callable[[], None] | None = None) -> None:
    """Until it has ended; `here` says what became of it where it was stopped instead."""
    stop = give_up or (lambda: request_stop(turn, by()))
    with left_to_server("It goes on with it there.", here):
        follow(lambda: not Turn.objects.get(pk=turn.pk).is_open, turn.conversation_id, stop)
    turn.refresh_from_db()


def new_version(plan: Plan, turn: Turn) -> Plan:
    """Until the agent has answered; what it makes of the plan waits for a yes."""
    before, unchanged = plan.version, "The plan is as it was."
    follow_turn(turn, unchanged)
    plan.refresh_from_db()
    if plan.version == before:
        raise Conflict(why_none(turn, unchanged))
    return plan


def by() -> str:
    return str(local_owner().username)


def make_current(plan: Plan) -> None:
    Preferences.objects.update_or_create(user=local_owner(), defaults={"current_plan": plan.pk})


def current_plan() -> Plan | None:
    """The open one that was made or activated last."""
    chosen = Preferences.objects.filter(user=local_owner()).values_list("current_plan")
    own = Plan.objects.filter(conversation__owner=local_owner(), conversation__deleted_at=None)
    return own.filter(pk__in=chosen, state__in=OPEN).first()


def plan_named(id: int | None, *, to_read: bool = False) -> Plan:
    """The plan with this number; without one the current one, or the only open plan in a drawer.

    To read one, any plan does if there is only one.
    """
    plans = Plan.objects.filter(conversation__owner=local_owner())
    if id is not None:
        plan = plans.filter(pk=id).first()
        if plan is None:
            raise NotFound(f"There is no plan {id}.")
        return plan
    if current := current_plan():
        return current
    mine = list(plans.filter(conversation__parent_call=None).order_by("pk"))
    in_drawers = plans.filter(conversation__active_plan__plan__pk=F("pk"), state__in=OPEN)
    possible = list(in_drawers.filter(conversation__parent_call=None).order_by("pk"))
    if not possible and to_read:
        possible = mine
    if len(possible) == 1:
        return possible[0]
    if not mine:
        raise NotFound("There is no plan yet.")
    if not possible:
        last = mine[-1]
        raise Conflict(f"No plan is open. Name one by its ID, such as {last.pk} “{last.title}”.")
    listed = "; ".join(f"{each.pk} “{each.title}” (v{each.version})" for each in possible[-MOST:])
    raise Conflict(
        f"{len(possible)} plans are possible: name one by its ID, or `plan activate` it. {listed}."
    )


def why_none(turn: Turn, result: str) -> str:
    return turn.error or f"{result} {last_text(turn)}".strip()
