"""`manage.py plan new | list | show | approve | run | retry | skip | replan | …`: see --help."""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db.models import F

from agents.actions import create_conversation
from agents.changes.undo import Wanted, outcome_of
from agents.config.ownership import agent_of, agents_of
from agents.engine.lifecycle import request_stop
from agents.engine.steps import last_text
from agents.errors import Conflict, NotFound
from agents.models import Preferences, Turn, TurnState
from agents.notice_text import text_of
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
from plans.models import LIVE, OPEN, SETTLED, ActivePlan, CheckResult, Plan
from plans.queries import checklist, reload
from plans.search import rows_of
from plans.snapshot import plan_snapshot, plan_snapshots

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
            if verb in ("retry", "skip", "comment"):
                by_id.add_argument("key", help="the subtask, such as s2")
            if verb == "comment":
                by_id.add_argument("text", help="what to change; empty takes the comment away")
            one_number = None if verb in ("activate", "delete") else "?"
            by_id.add_argument("id", nargs=one_number, type=int)
            if verb == "check":
                by_id.add_argument("key", nargs="?", default="", help="a subtask, such as s2")
            by_id.add_argument("--json", action="store_true")
            for flag, options in FLAGS.get(verb, {}).items():
                by_id.add_argument(flag, **options)  # type: ignore[arg-type]

    def handle(self, *, verb: str, **given: object) -> None:
        self.prepare()
        getattr(self, f"{verb}_plan")(**given)

    def new_plan(
        self, *, goal: str, agent: str, planner: str, beside: bool, json: bool, **_: object
    ) -> None:
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

        with left_to_server("It goes on with it there.", "No plan was made."):
            follow(is_through(turn), conversation.pk, give_up)
        turn.refresh_from_db()
        plan = Plan.objects.filter(pk=turn.checkpoint.get("made", 0)).first()
        if plan is None:
            raise Conflict(why_none(turn))
        make_current(plan)
        self.show(plan, json)

    def list_plan(self, *, json: bool, **_: object) -> None:
        plans = list(Plan.objects.filter(conversation__owner=local_owner()).order_by("-pk"))
        if json:
            self.print_json([plan.document() for plan in plan_snapshots(plans)])
            return
        pks = [plan.pk for plan in plans]
        active = set(ActivePlan.objects.filter(plan__in=pks).values_list("plan_id", flat=True))
        rows, current = {row.id: row for row in rows_of(pks)}, current_plan()
        for plan in plans:
            if row := rows.get(plan.pk):
                mark, settled = "*" if row.id in active else " ", f"{row.settled}/{row.total}"
                mark = ">" if current and row.id == current.pk else mark
                line = f"{row.id}  {row.status.word:28}  {settled:>7}  {row.done_words:11}  {mark} "
                self.say(f"{line}{row.title}")

    def show_plan(self, *, id: int | None, json: bool, **_: object) -> None:
        self.show(plan_named(id, to_read=True), json)

    def approve_plan(
        self,
        *,
        id: int | None,
        version: int | None,
        without_comments: bool,
        json: bool,
        **_: object,
    ) -> None:
        """Only says yes; `plan run` runs it.

        At a terminal the plan is shown whole first, where it is not named by ID and version.
        """
        plan = plan_named(id)
        wanted = version_read(plan, version, json)
        if (id is None or version is None) and is_at_a_terminal(json):
            self.say(plan_markdown(plan, public_address()))
            question = f"Approve v{plan.version} of plan {plan.pk}? [y/N] "
            if input(question).strip().casefold() not in ("y", "yes"):
                raise Conflict("Nothing was approved.")
        left = None if without_comments else ()
        self.show(actions.approve_plan(plan, wanted, by(), "no", left), json)

    def run_plan(
        self,
        *,
        id: int | None,
        version: int | None,
        json: bool,
        next: bool,
        executor: str,
        allow: list[str],
        **_: object,
    ) -> None:
        plan = plan_named(id)
        wanted = version_read(plan, version, json)
        options: dict[str, object] = {"executor": executor, "allow": allow}
        actions.run_plan(plan, by(), "next" if next else "all", options, wanted)
        self.see_through(plan, json)

    def next_plan(self, **given: object) -> None:
        self.run_plan(**{**given, "next": True})  # type: ignore[arg-type]

    def see_through(self, plan: Plan, json: bool) -> None:
        """Until the run rests; a failure, or something only a person can settle, is exit code 1.

        Each subtask is printed as it is settled.
        """
        settled = set() if json else self.print_settled(plan, set(), quiet=True)

        def is_over() -> bool:
            if not json:
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
        self.show(plan, json)
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

    def pause_plan(self, *, id: int | None, json: bool, **_: object) -> None:
        self.show(actions.pause_plan(plan_named(id), by()), json)

    def resume_plan(self, *, id: int | None, version: int | None, json: bool, **_: object) -> None:
        plan = plan_named(id)
        actions.resume_plan(plan, by(), version_read(plan, version, json))
        self.see_through(plan, json)

    def retry_plan(
        self, *, key: str, id: int | None, version: int | None, json: bool, **_: object
    ) -> None:
        plan = plan_named(id)
        actions.retry_subtask(plan, key, by(), version_read(plan, version, json))
        self.see_through(plan, json)

    def skip_plan(self, *, key: str, id: int | None, json: bool, reason: str, **_: object) -> None:
        """The last one's skipping ends the plan: that is seen through."""
        plan = actions.skip_subtask(plan_named(id), key, by(), reason)
        if plan.is_live:
            self.see_through(plan, json)
        else:
            self.show(plan, json)

    def check_plan(self, *, id: int | None, key: str, json: bool, **_: object) -> None:
        """Until all have been run; one that says no, or that was not come to, is exit code 1."""
        plan = plan_named(id, to_read=True)
        turn = actions.check_plan(plan, by(), key)
        with left_to_server("It goes on with it there.", "Nothing else was checked."):
            follow(is_through(turn), plan.conversation_id, lambda: request_stop(turn, by()))
        rows = list(CheckResult.objects.filter(turn=turn).select_related("subtask"))
        for row in () if json else rows:
            word = {True: "yes", False: "no", None: "not run"}[row.passed]
            asked = f"{row.asked['kind']}: {looks_at(row.asked)}"
            self.say(f"{row.subtask.key} {row.key}  {word:8}{asked}  {row.said}".rstrip())
        if json:
            self.print_json(plan_snapshot(plan).document())
        if failed := sum(not row.passed for row in rows):
            raise Conflict(f"{failed} of {len(rows)} checks did not say yes.")
        turn.refresh_from_db()
        if turn.state != TurnState.DONE:
            raise Conflict(turn.error or "The checks did not run to their end.")

    def replan_plan(
        self, *, id: int | None, start: str | None, hint: str, json: bool, **_: object
    ) -> None:
        """Until the planner has answered; what it makes waits for a new yes."""
        plan = plan_named(id)
        before = plan.version
        turn = actions.replan_rest(plan, by(), start, hint)
        self.see_answered(plan, turn)
        if plan.version == before:
            raise Conflict(why_none(turn, "The plan is as it was."))
        self.show(plan, json)

    def comment_plan(self, *, key: str, text: str, id: int | None, json: bool, **_: object) -> None:
        plan = plan_named(id)
        if text.strip():
            self.show(actions.keep_comment(plan, key, text, by()), json)
        else:
            self.show(actions.remove_comment(plan, key, by()), json)

    def revise_plan(self, *, id: int | None, text: str, json: bool, **_: object) -> None:
        """Until the agent has answered; what it makes of the comments waits for a yes."""
        plan = plan_named(id)
        before = plan.version
        turn = actions.send_comments(plan, by(), more=text)
        self.see_answered(plan, turn)
        if plan.version == before:
            raise Conflict(why_none(turn, "The plan is as it was."))
        self.show(plan, json)

    def see_answered(self, plan: Plan, turn: Turn) -> None:
        with left_to_server("It goes on with it there.", "The plan is as it was."):
            follow(is_through(turn), plan.conversation_id, lambda: request_stop(turn, by()))
        plan.refresh_from_db()

    def activate_plan(self, *, id: int, json: bool, **_: object) -> None:
        plan = actions.activate_plan(plan_named(id), by())
        make_current(plan)
        self.show(plan, json)

    def cancel_plan(self, *, id: int | None, json: bool, **_: object) -> None:
        """A run that stops has its turn ended before this comes back."""
        plan = actions.cancel_plan(plan_named(id), by())
        over = "The plan is cancelled."
        with left_to_server(over, over):
            follow(lambda: not reload(plan).is_live, plan.conversation_id, lambda: None)
        plan.refresh_from_db()
        self.show(plan, json)

    def delete_plan(self, *, id: int, json: bool, **_: object) -> None:
        plan = plan_named(id)
        actions.delete_plan(plan, by())
        if json:
            self.print_json({"deleted": id})
        else:
            self.say(f"{id}  {plan.title}  (deleted)")

    def changes_plan(
        self, *, id: int | None, key: str, path: str | None, diff: bool, json: bool, **_: object
    ) -> None:
        """The files, or with a path or --diff what changed in them."""
        changes = Scope.named(plan_named(id, to_read=True), key).changes
        if json:
            self.print_json(changes.document())
        else:
            self.hand_out(changes_text(changes, changes.files, path, diff))

    def undo_plan(
        self,
        *,
        id: int | None,
        key: str,
        path: list[str],
        force: list[str],
        json: bool,
        **_: object,
    ) -> None:
        wanted = Wanted(tuple(path) or None, tuple(force))
        scope = Scope.named(plan_named(id, to_read=True), key)
        row = undo_by_command(scope, by(), wanted, ask=not json)
        if json:
            self.print_json({"id": row.pk, "files": row.files, "kept": row.kept_paths})
        else:
            self.say(text_of(outcome_of(row)))

    def export_plan(self, *, id: int | None, **_: object) -> None:
        self.hand_out(plan_markdown(plan_named(id, to_read=True), public_address()))

    def show(self, plan: Plan, json: bool) -> None:
        now = plan_snapshot(plan)
        if json:
            self.print_json(now.document())
            return
        if plan.is_live and has_no_worker():
            self.stderr.write(f"Nobody runs it now: `plan run {plan.pk}` goes on.")
        approved = "approved" if plan.is_confirmed else "not approved"
        self.say(f"{plan.pk}  {plan.title}  (v{plan.version}, {approved}, {now.standing})")
        for subtask in now.subtasks:
            mark = "!" if subtask.is_regressed else MARKS[subtask.state]
            line = f"  [{mark}] {subtask.key}  {subtask.name}"
            line += f" ({DONE[subtask.verified]})" if subtask.state == "done" else ""
            line += " (failed)" if subtask.failed else ""
            more = subtask.error or subtask.outcome or subtask.reason
            self.say(f"{line}: {more}" if more else line)
            if subtask.comment:
                self.say(f"      Your comment: {subtask.comment}")
        if now.subtasks:
            self.say(f"  {now.progress.words}")
        if now.seconds.worked:
            self.say(f"  {now.seconds.times.words}")
        if plan.outcome:
            self.say(plan.outcome)


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


def is_through(turn: Turn) -> Callable[[], bool]:
    return lambda: not Turn.objects.get(pk=turn.pk).is_open


def by() -> str:
    return str(local_owner().username)


def version_read(plan: Plan, named: int | None, json: bool) -> int:
    """The version that a person has read: the named one, or at a terminal that of now.

    Raises Conflict where nobody was shown any.
    """
    if named is None and not is_at_a_terminal(json):
        raise Conflict(
            f"Without a terminal, name the version of plan {plan.pk} that you have read, such as "
            f"--version {plan.version}. Nothing was started."
        )
    return plan.version if named is None else named


def is_at_a_terminal(json: bool) -> bool:
    return not json and sys.stdin.isatty() and sys.stdout.isatty()


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


def why_none(turn: Turn, result: str = "No plan was made.") -> str:
    turn.refresh_from_db()
    return turn.error or f"{result} {last_text(turn)}".strip()
